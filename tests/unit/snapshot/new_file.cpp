// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What stands beside a snapshot is never opened, what is somebody else's is never replaced, and nothing unfinished stays.
#include "snapshot/file/new_file.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "async/signals.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/writer.hpp"
#include "support/catch.hpp"
#include "support/small_fabric.hpp"
#include "support/temporary_directory.hpp"
#include "unit/subnet/swept.hpp"

namespace snapshot_new_file_tests {

namespace {

int flock_error = 0;  // what flock() fails with, if not 0

}  // namespace

/// Stands before the function of libc.
extern "C" int flock(int fd, int operation) noexcept {
  static auto* const real = reinterpret_cast<int (*)(int, int)>(::dlsym(RTLD_NEXT, "flock"));
  if (flock_error == 0) return real(fd, operation);
  errno = flock_error;
  return -1;
}

namespace {

using namespace ib;
using namespace ibtest;
using snapshot::NewFile;
using snapshot::Snapshot;

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Bench {
  TemporaryDirectory directory;
  SmallFabric small;
  Swept swept{small.fabric};
  std::string file = directory.file("one.ibss");

  void store() {
    snapshot::Writer writer(file, Keys::hidden);
    writer.put_origin(small.fabric.end_port());
    writer.put_fabric(swept);
    writer.commit();
  }
  /// How many nodes the file has.
  std::size_t nodes() const {
    const subnet::SweptSubnet stored = Snapshot(file).read_fabric(nullptr);
    const subnet::Subnet& subnet = stored.subnet;
    return subnet.nodes().size();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) all.push_back(entry.path().filename());
    std::ranges::sort(all);
    return all;
  }
};

/// The journal of a transaction on a database, which SQLite rolls back, and whose super-journal it then removes.
std::string hot_journal(const std::string& super_journal) {
  std::string journal("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  const auto number = [&journal](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) journal += static_cast<char>(value >> shift);
  };
  for (const std::uint32_t field : {0U, 0U, 1U, 512U, 4096U}) number(field);
  journal.resize(512, '\0');
  std::uint32_t sum = 0;
  for (const char c : super_journal) sum += static_cast<std::uint32_t>(static_cast<signed char>(c));
  number(0x40000000 / 4096 + 1);
  journal += super_journal;
  number(static_cast<std::uint32_t>(super_journal.size()));
  number(sum);
  return journal + std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
}

}  // namespace

TEST_CASE_METHOD(Bench, "Files beside a snapshot are not opened, rolled back or removed") {
  const std::string victim = directory.file("victim");
  const std::string beside = GENERATE(as<std::string>(), "-journal", "-wal", "-shm", ".new-journal", ".new-wal");
  const int kind = GENERATE(0, 1, 2);
  CAPTURE(beside, kind);
  store();
  std::ofstream(victim) << "mine";
  const std::string planted = file + beside;
  if (kind == 0) {
    REQUIRE(::mkfifo(planted.c_str(), 0666) == 0);
  } else {
    std::ofstream(planted, std::ios::binary) << (kind == 1 ? hot_journal(victim) : std::string(5000, 'x'));
  }
  const std::string before = kind == 0 ? "" : content(planted);
  CHECK(nodes() == 3);
  store();
  Snapshot old(file);
  snapshot::Writer(file, Keys::hidden, &old).commit();
  CHECK(nodes() == 3);
  CHECK(content(victim) == "mine");
  if (kind != 0) CHECK(content(planted) == before);
  CHECK(names().size() == 3);
}

TEST_CASE_METHOD(Bench, "A symbolic link is not replaced") {
  store();
  const std::string link = directory.file("link");
  std::filesystem::create_symlink(file, link);
  CHECK_THROWS_WITH(NewFile(link), contains("is a symbolic link: it is not replaced"));
  std::filesystem::remove(link);
  std::filesystem::create_symlink(directory.file("none"), link);
  CHECK_THROWS_WITH(NewFile(link), contains("is a symbolic link: it is not replaced"));
  CHECK(names() == std::vector<std::string>{"link", "one.ibss"});
}

TEST_CASE_METHOD(Bench, "Another user's file is not replaced") {
  store();
  if (::geteuid() != 0) return;  // nobody else can give a file away
  REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
  CHECK_THROWS_WITH(NewFile(file), contains("belongs to another user: it is not replaced"));
  CHECK(names() == std::vector<std::string>{"one.ibss"});
}

TEST_CASE_METHOD(Bench, "A file in the place of the new one is not used") {
  const std::string in_the_way = file + ".new";
  const std::string elsewhere = directory.file("elsewhere");
  std::filesystem::create_directory(elsewhere);
  const int kind = GENERATE(0, 1, 2, 3);
  CAPTURE(kind);
  if (kind == 0) std::ofstream(in_the_way) << "mine";
  if (kind == 1) std::filesystem::create_symlink(elsewhere, in_the_way);
  if (kind == 2) REQUIRE((::mkdir(in_the_way.c_str(), 0700) == 0 && ::chmod(in_the_way.c_str(), 0755) == 0));
  if (kind == 3) {
    if (::geteuid() != 0) return;
    REQUIRE((::mkdir(in_the_way.c_str(), 0700) == 0 && ::chown(in_the_way.c_str(), 12345, 12345) == 0));
  }
  CHECK_THROWS_WITH(NewFile(file), contains(".new' is in the way: remove it"));
  CHECK(std::filesystem::is_empty(elsewhere));
  CHECK(names() == std::vector<std::string>{"elsewhere", "one.ibss.new"});
}

TEST_CASE_METHOD(Bench, "Only the owner can read the new file, whatever the umask is, and the file of a killed process is used again") {
  const mode_t before = ::umask(GENERATE(0, 0777));
  {
    const NewFile first(file);
    struct stat status {};
    REQUIRE(::stat((file + ".new").c_str(), &status) == 0);
    CHECK((S_ISDIR(status.st_mode) && (status.st_mode & 07777) == 0700));
    REQUIRE(::fstat(first.fd(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    CHECK_THROWS_AS(NewFile(file), snapshot::BeingWritten);
  }
  ::umask(before);
  CHECK(names().empty());
  std::filesystem::create_directory(file + ".new");
  REQUIRE(::chmod((file + ".new").c_str(), 0700) == 0);
  std::ofstream(file + ".new/snapshot") << std::string(100000, 'x');
  store();
  CHECK(nodes() == 3);
  CHECK(names() == std::vector<std::string>{"one.ibss"});
}

TEST_CASE_METHOD(Bench, "A signal that ends the process leaves nothing unfinished") {
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGPIPE);
  store();
  const std::string before = content(file);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(signal, SIG_DFL);  // the tests' own handlers
    snapshot::Writer writer(file, Keys::hidden);
    writer.put_fabric(swept);
    ::raise(signal);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == signal));
  CHECK(names() == std::vector<std::string>{"one.ibss"});
  CHECK(content(file) == before);
}

TEST_CASE_METHOD(Bench, "Nor does the second signal while the first one is waited for, whichever was begun first") {
  const bool file_first = GENERATE(true, false), waiting_ends = GENERATE(true, false);
  CAPTURE(file_first, waiting_ends);
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGINT, SIG_DFL);  // the tests' own handler
    std::optional<NewFile> unfinished;
    if (file_first) unfinished.emplace(file);
    async::Loop loop(swept.clock);
    std::optional<async::Interrupt> interrupt(loop);
    if (!file_first) unfinished.emplace(file);
    if (waiting_ends) {
      interrupt.reset();
    } else {
      ::raise(SIGINT);
    }
    ::raise(SIGINT);
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGINT));
  CHECK(names().empty());
}

TEST_CASE_METHOD(Bench, "A file that is done leaves no handler behind") {
  const bool waiting_ends_first = GENERATE(true, false);
  const auto before = ::signal(SIGINT, SIG_DFL);
  {
    std::optional<NewFile> unfinished;
    async::Loop loop(swept.clock);
    std::optional<async::Interrupt> interrupt(loop);
    unfinished.emplace(file);
    if (waiting_ends_first) interrupt.reset();
    unfinished.reset();
  }
  CHECK(::signal(SIGINT, before) == SIG_DFL);
}

TEST_CASE_METHOD(Bench, "Where no lock is to be had the file is written without") {
  flock_error = GENERATE(ENOSYS, ENOLCK, EOPNOTSUPP, EBADF, EINVAL);
  CAPTURE(flock_error);
  CHECK_NOTHROW(store());
  {
    const NewFile first(file), second(file);
    CHECK(::write(first.fd(), "a", 1) == 1);
    CHECK(::lseek(second.fd(), 0, SEEK_END) == 0);  // each has a file of its own
  }
  flock_error = EWOULDBLOCK;
  CHECK_THROWS_AS(NewFile(file), snapshot::BeingWritten);
  flock_error = 0;
  std::filesystem::remove_all(file + ".new");
  CHECK(nodes() == 3);
  CHECK(names() == std::vector<std::string>{"one.ibss"});
}

TEST_CASE_METHOD(Bench, "SQLite takes no lock on a snapshot") {
  store();
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::fcntl(fd.get(), F_SETLK, &lock) == 0);
  const pid_t child = ::fork();  // a process is not in the way of its own locks
  if (child == 0) {
    try {
      ::_exit(nodes() == 3 ? 0 : 1);
    } catch (const Error&) {
      ::_exit(2);
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE_METHOD(Bench, "The file that is replaced stays as FILE~ where this is wanted, and nothing else stays") {
  store();
  const std::string before = content(file);
  const auto replace = [&] {
    snapshot::Writer writer(file, Keys::hidden);
    writer.put_origin(small.fabric.end_port());
    writer.keep_old();
    writer.commit();
  };
  const std::vector<std::string> both{"one.ibss", "one.ibss~"};
  replace();
  CHECK(names() == both);
  CHECK(content(file + "~") == before);
  SECTION("Once more: the older one goes") {
    const std::string second = content(file);
    replace();
    CHECK(names() == both);
    CHECK(content(file + "~") == second);
  }
  SECTION("The process ended between the two names") {
    std::filesystem::remove(file);
    std::filesystem::create_hard_link(file + "~", file);
    replace();
    CHECK(names() == both);
    CHECK(content(file + "~") == before);
    CHECK(content(file) != before);
  }
  SECTION("There is something else at FILE~") {
    std::filesystem::remove(file + "~");
    std::ofstream(file + "~") << "mine";
    CHECK_THROWS_AS(replace(), UsageError);
    CHECK(content(file + "~") == "mine");
    CHECK(names() == both);
  }
}

TEST_CASE_METHOD(Bench, "A file that may not be read is not said to be no snapshot") {
  if (::geteuid() != 0) return;
  store();
  std::filesystem::permissions(file, std::filesystem::perms::none);
  REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
  std::filesystem::permissions(directory.path(), std::filesystem::perms::all);
  REQUIRE(::seteuid(12345) == 0);
  std::string why;
  try {
    const NewFile refused(file);
  } catch (const Error& error) {
    why = error.message();
  }
  REQUIRE(::seteuid(0) == 0);
  CHECK_THAT(why, contains(file) && contains("Permission denied"));
}

}  // namespace snapshot_new_file_tests
