# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Time and loss, behind the preload that truly delays and drops: our own timeouts and retries are at work.
Times are compared with each other, with room to spare, for the machine may be busy."""
import json
import re
import time

import case

LEAF = "1"  # the host's port; the next number is a port of its leaf switch


def lost(**env):
    """The environment of a run behind the preload."""
    return {"preload": [case.DELAY], **env}


class Time(case.FabricCase):
    def count(self):
        with open(self.fabric.path("count"), encoding="ascii") as file:
            return json.loads(file.readlines()[-1])

    def timed(self, *words, status=0, **env):
        start = time.monotonic()
        done = self.ibtool(*words, status=status, **env)
        return time.monotonic() - start, done

    def test_lost_mads_are_sent_again(self):
        whole = self.ours()
        for seed in (1, 2, 3):
            with self.subTest(seed=seed):
                env = lost(IBTEST_DROP=0.05, IBTEST_SEED=seed, IBTEST_COUNT_FILE=self.fabric.path("count"))
                self.assert_same_fabric(self.ours("-t", "20", **env), whole)
                self.assertGreater(self.count()["lost"], 0)

    def test_a_query_survives_a_lost_mad(self):
        # With this seed the first request is lost and a later one is not; else the test says so.
        for seed in range(1, 50):
            env = lost(IBTEST_DROP=0.5, IBTEST_SEED=seed, IBTEST_COUNT_FILE=self.fabric.path("count"))
            done = self.run_ours([case.IBTOOL, "smpquery", "-t", "20", "nodedesc", "-D", "0,1"], **env)
            counted = self.count()
            if counted["lost"] and done.returncode == 0:
                self.assertIn("leaf01", done.stdout)
                return
        self.fail("no seed of 50 lost a request and answered a later one")

    def test_a_query_that_is_never_answered_ends(self):
        took, done = self.timed("smpquery", "-t", "50", "nodedesc", "-D", "0,1", status=3, **lost(IBTEST_DROP=1))
        self.assertRegex(done.stderr, r"(?m)^E: No answer from ")
        self.assertLess(took, 10)

    def test_the_timeout_is_the_users(self):
        short, _ = self.timed("smpquery", "-t", "20", "nodedesc", "-D", "0,1", status=3, **lost(IBTEST_DROP=1))
        long, _ = self.timed("smpquery", "-t", "300", "nodedesc", "-D", "0,1", status=3, **lost(IBTEST_DROP=1))
        self.assertGreater(long, 0.3)
        self.assertLess(short, long)

    def test_a_dead_node_costs_one_retry_chain_and_is_listed(self):
        took, done = self.timed("ibnetdiscover", status=4, **lost(IBTEST_DEAD_PATH=LEAF + ",2"))
        self.assertEqual(len(case.read_topology(done.stdout).nodes), 21)
        self.assertRegex(done.stderr, r"No answer from beyond port 2 of .*leaf01")
        self.assertLess(took, 15)

    def test_many_dead_nodes_cost_about_what_one_costs(self):
        # All behind the leaf's first uplink: by this route neither spine 1 nor what lies behind it answers.
        spine = f"{LEAF},2:{LEAF},3:{LEAF},4:{LEAF},19:{LEAF},20"
        times = []
        for _ in range(3):  # a machine that is busy for a moment does not fail three times
            one, _ = self.timed("ibnetdiscover", "-t", "100", status=4, **lost(IBTEST_DEAD_PATH=LEAF + ",2"))
            many, done = self.timed("ibnetdiscover", "-t", "100", status=4, **lost(IBTEST_DEAD_PATH=spine))
            self.assertEqual(len(case.read_topology(done.stdout).nodes), 22 - 3)
            times.append((one, many))
            if many < 2.5 * one + 0.5:
                return
        self.fail(f"one and many: {times}")

    def test_a_switch_whose_way_falls_silent_is_one_line_costs_one_retry_chain_and_is_read_by_another_way(self):
        """By this way and by its LID nobody answers any more; beyond other ports the switch was seen since."""
        route = LEAF + ",19"  # the first spine
        told = self.ibtool("smpquery", "portinfo", "-D", "0," + route, "0").stdout
        lid = re.search(r"(?m)^Lid:\.*(\d+)$", told).group(1)
        for mode in ("DR", "LID"):
            for after in (1, 3, 8):
                with self.subTest(mode=mode, after=after):
                    done = self.ibtool("ibnetdiscover", "-t", "100", "--discovery", mode, status=4,
                                       **lost(IBTEST_SILENT=f"{route}@{lid}", IBTEST_SILENT_AFTER=after,
                                              IBTEST_COUNT_FILE=self.fabric.path("count")))
                    self.assertEqual(len(case.read_topology(done.stdout).nodes), 22)
                    self.assertEqual(len(re.findall(r"(?m)^E: [^+]", done.stderr)), 1, done.stderr)
                    self.assertRegex(done.stderr, r"E: No answer from beyond port 19 of \S+ 'MF0;leaf01:SB7800/U1'")
                    # Four at once, three tries of one of them, once more at the end; by LID and by directed route each.
                    self.assertLessEqual(self.count()["lost"], 16)

    def test_slow_mads_overlap(self):
        # 22 nodes need some 350 MADs: one after the other they would take 7 s at 20 ms.
        env = lost(IBTEST_DELAY_US=20000, IBTEST_COUNT_FILE=self.fabric.path("count"))
        took = min(self.timed("ibnetdiscover", **env)[0] for _ in range(3))
        self.assertLess(took, self.count()["sent"] * 0.020 / 2)


if __name__ == "__main__":
    case.main()
