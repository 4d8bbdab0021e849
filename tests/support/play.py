# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The demonstration and the shell of the README: `play.py demo|shell DIRECTORY-OF-IBTOOL [NETFILE]`."""
import os
import shlex
import subprocess
import sys
import tempfile

import devices
import simfabric

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER = os.path.join(os.path.dirname(HERE), "fabric", "cluster16")
ODD = os.path.join(HERE, "cluster16_devices.txt")

WELCOME = """
You are on {host}, a host of a simulated InfiniBand fabric: {what}.
Try:

  ibtool ibnetdiscover                    the whole fabric
  ibtool iblinkinfo                       every link, its width and speed
  ibtool smpquery portinfo 1              a port's PortInfo, asked over the fabric
  ibtool phy                              bit errors and FEC of every link; phy --down: why ports are down
  ibtool environment                      temperatures and fans of switches
  ibtool help                             what else there is

Break a cable on the simulator's console and look again; `sim-console Help` lists what else it can do:

  sim-console 'Unlink "{switch}"[{port}]'
  ibtool ibnetdiscover
  sim-console 'ReLink "{switch}"[{port}]'

`exit` ends the shell and the fabric.
"""


def fabric_for(arguments):
    """The fabric the user named, else the example cluster with its pinned LIDs."""
    if arguments:
        return simfabric.Fabric(arguments[0])
    return simfabric.Fabric(CLUSTER + ".net", lids=CLUSTER + ".guid2lid")


def registers(fabric):
    """The environment in which the devices of the fabric answer the vendor's class. On the example cluster some have something wrong."""
    cables = fabric.path("devices.txt")
    devices.write(fabric.netfile, cables)
    return simfabric.registers(cables, *([ODD] if fabric.netfile == CLUSTER + ".net" else []))


def show(fabric, env, command):
    """Prints a command line and runs it on the fabric. Returns its exit status."""
    print(f"\n\033[1m$ {shlex.join(command)}\033[0m", flush=True)
    return subprocess.run(command, env=env, cwd=fabric.dir, check=False).returncode


def demo(fabric, env):
    print("A simulated fabric is up: 4 leaf switches, 2 spine switches, 16 hosts.")
    commands = (["ibtool", "ibnetdiscover"], ["ibtool", "ibswitches"], ["ibtool", "smpquery", "nodeinfo", "1"],
                ["ibtool", "smpquery", "portinfo", "1", "19"], ["ibtool", "phy"], ["ibtool", "phy", "--down"],
                ["ibtool", "modules"], ["ibtool", "environment"], ["ibtool", "firmware"])
    failed = [command for command in commands if show(fabric, env, command) != 0]
    for command in failed:
        print(f"FAILED: {shlex.join(command)}", file=sys.stderr)
    return 1 if failed else 0


def switch_link(netfile):
    """A cable between two switches, as (node id, port), for the hint."""
    switch = None
    with open(netfile, encoding="latin-1") as net:
        for line in net:
            words = line.split('"')
            if line.startswith("Switch"):
                switch = words[1]
            elif line.startswith(("Ca", "Hca", "Rt")):
                switch = None
            elif switch and line.startswith("[") and len(words) > 1 and words[1].startswith("S"):
                return switch, line[1:line.index("]")]
    return "NODEID", "PORT"


def description(fabric):
    """What the host is called, as the network file says."""
    with open(fabric.netfile, encoding="latin-1") as net:
        heads = [line.split('"') for line in net if f'"{fabric.host}"' in line and line[0] != "["]
        found = [words[3] for words in heads if len(words) > 4]
    return found[0] if found else fabric.host


def shell(fabric, env):
    switch, port = switch_link(fabric.netfile)
    nodes, switches, _ = simfabric.sizes(fabric.netfile)
    subprocess.run(["ibtool", "ibnodes"], env=env, cwd=fabric.dir, check=False)
    what = f"{switches - 16} switches, {nodes - switches} other nodes"
    print(WELCOME.format(host=description(fabric), switch=switch, port=port, what=what))
    with tempfile.NamedTemporaryFile("w", prefix="rc", dir=fabric.dir, delete=False) as rc:
        rc.write('[ -f ~/.bashrc ] && . ~/.bashrc\nPS1="(fabric) $PS1"\n')
        # What a .bashrc may have undone. Set here, so that bash itself is not simulated.
        for name in ("PATH", "LD_PRELOAD"):
            rc.write(f"export {name}={shlex.quote(env[name])}\n")
    env = {key: value for key, value in env.items() if key != "LD_PRELOAD"}
    return subprocess.run(["bash", "--rcfile", rc.name, "-i"], env=env, cwd=fabric.dir, check=False).returncode


def main():
    mode, tools, *rest = sys.argv[1:]
    with fabric_for(rest) as fabric:
        env = fabric.env(**registers(fabric))
        env["PATH"] = f"{os.path.abspath(tools)}:{HERE}/bin:{env['PATH']}"
        return demo(fabric, env) if mode == "demo" else shell(fabric, env)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (simfabric.FabricError, OSError) as error:  # what ibsim or opensm says is in it, and that a file cannot be read
        sys.exit(f"E: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
