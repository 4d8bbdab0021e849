// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/file/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "async/signals.hpp"
#include "base/escape.hpp"
#include "snapshot/snapshot.hpp"

namespace ib::snapshot {
namespace {

constexpr mode_t private_file = 0600, private_directory = 0700;
constexpr const char* inner_name = "snapshot";
constexpr const char* aside_name = "old";  // beside it, for a moment: a second name of the file to be replaced

/// Throws UsageError if there is something at `file` that a snapshot must not replace.
void check_replaceable(const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return;
  if (S_ISLNK(status.st_mode)) throw UsageError(fmt::format("{} is a symbolic link: it is not replaced", in_quotes(file)));
  if (S_ISREG(status.st_mode) && status.st_size == 0) return;
  if (S_ISREG(status.st_mode) && ::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0)
    throw SysError(errno, "open", file, Exit::usage);
  if (S_ISREG(status.st_mode) && is_snapshot_file(file)) return;
  throw UsageError(fmt::format("{} exists and is not a snapshot: it is not replaced", in_quotes(file)));
}

/// Makes a directory that no other user can look into, whatever the umask is. Returns 0, or the errno.
int make_private_directory(const std::string& directory) {
  const mode_t before = ::umask(~private_directory & 0777U);
  const int error = ::mkdir(directory.c_str(), private_directory) == 0 ? 0 : errno;
  ::umask(before);
  return error;
}

struct stat status_of(int fd, const std::string& name) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw SysError(errno, "look at", name);
  return status;
}

/// The signals that end a program which does not expect them.
constexpr std::array<int, 6> signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXFSZ};

/// Replaces `usual` by `handler` as the action of each signal whose action it is, now or after an async::Interrupt has got its first
/// signal.
void replace(void (*usual)(int), void (*handler)(int)) {
  for (const int signal : signals) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != usual) continue;
    struct sigaction next {};
    next.sa_handler = handler;
    for (const int other : signals) ::sigaddset(&next.sa_mask, other);  // one handler at a time
    ::sigaction(signal, &next, nullptr);
  }
  async::replace_fallback(usual, handler);
}

/// While an object exists, signals wait.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

/// While an object exists, Ctrl-C and the other signals that end a program remove a file and its directory first. A signal that is
/// ignored stays ignored. If an async::Interrupt waits for a signal, the Interrupt takes the first signal, and the second signal removes
/// the file. Only one object at a time has an effect: the first.
class NewFile::EndedBySignal {
 public:
  /// Removes `file` in the directory that is open as `directory_fd`, then the directory by its name. `directory_fd` must stay open.
  EndedBySignal(int directory_fd, std::string file, std::string directory)
      : directory_fd_(directory_fd), file_(std::move(file)), directory_(std::move(directory)) {
    const EndedBySignal* none = nullptr;
    if (unfinished.compare_exchange_strong(none, this)) replace(SIG_DFL, remove_and_end);
  }
  ~EndedBySignal() {
    if (unfinished.load() != this) return;
    replace(remove_and_end, SIG_DFL);
    unfinished = nullptr;
  }
  EndedBySignal(const EndedBySignal&) = delete;
  EndedBySignal& operator=(const EndedBySignal&) = delete;

 private:
  /// The signal handler. All that it calls is async-signal-safe. The signal comes again when it returns, and ends the program.
  static void remove_and_end(int signal) {
    if (const EndedBySignal* const self = unfinished.load()) {
      ::unlinkat(self->directory_fd_, self->file_.c_str(), 0);
      ::rmdir(self->directory_.c_str());
    }
    struct sigaction end {};
    end.sa_handler = SIG_DFL;
    ::sigaction(signal, &end, nullptr);
    ::raise(signal);
  }

  /// The object whose file a signal removes. The signal handler gets no argument for it.
  static inline std::atomic<const EndedBySignal*> unfinished{};
  static_assert(std::atomic<const void*>::is_always_lock_free);

  int directory_fd_;
  std::string file_, directory_;
};

NewFile::NewFile(std::string file, std::string directory) : file_(std::move(file)), directory_(std::move(directory)), name_(inner_name) {}

NewFile::NewFile(std::string file) : NewFile(file, file + ".new") { begin(); }

void NewFile::begin() {
  check_replaceable(file_);
  const SignalsHeld held;
  // Between two of these steps another process may finish and remove the directory.
  do {
    open_directory();
  } while (!open_file());
  ended_by_signal_ = std::make_unique<EndedBySignal>(directory_fd_.get(), name_, directory_);
  struct stat old {};
  if (::lstat(file_.c_str(), &old) == 0 && old.st_uid != status_of(fd_.get(), file_).st_uid)
    throw UsageError(fmt::format("{} belongs to another user: it is not replaced", in_quotes(file_)));
  if (::ftruncate(fd_.get(), 0) != 0 || ::fchmod(fd_.get(), private_file) != 0) throw SysError(errno, "write", file_);
}

/// Makes the directory, or opens the directory that a killed process left.
void NewFile::open_directory() {
  for (;;) {
    const int error = make_private_directory(directory_);
    if (error != 0 && error != EEXIST) throw SysError(error, "create", directory_);
    directory_fd_.reset(::open(directory_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
    if (directory_fd_) {
      const struct stat status = status_of(directory_fd_.get(), directory_);
      const bool is_private = (status.st_mode & 077U) == 0;
      // A server may give the files of root to another user (NFS, root_squash).
      if (is_private && (error == 0 || status.st_uid == ::geteuid())) return;
    } else if (errno == ENOENT) {
      continue;
    } else if (errno != ENOTDIR && errno != ELOOP && errno != EACCES) {
      throw SysError(errno, "open", directory_);
    }
    throw UsageError(fmt::format("{} is in the way: remove it", in_quotes(directory_)));
  }
}

/// Opens and locks the file in the directory. False: another process has just removed it.
bool NewFile::open_file() {
  constexpr int how = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  fd_.reset(::openat(directory_fd_.get(), name_.c_str(), how, private_file));
  if (!fd_ && errno == ENOENT) return false;
  if (!fd_) throw SysError(errno, "create", file_);
  const bool has_lock = ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
  if (!has_lock && errno == EWOULDBLOCK) throw BeingWritten(fmt::format("{} is being written by another process", in_quotes(file_)));
  if (!has_lock) {
    // Without locks, which NFS and Lustre may lack, each process writes its own file, and the one that finishes last replaces the others'.
    ::unlinkat(directory_fd_.get(), name_.c_str(), 0);
    fd_.reset();
    for (unsigned number = 0; !fd_ && (number == 0 || errno == EEXIST); ++number) {
      name_ = fmt::format("{}-{}-{}", inner_name, ::getpid(), number);
      fd_.reset(::openat(directory_fd_.get(), name_.c_str(), how | O_EXCL, private_file));
    }
    if (!fd_) throw SysError(errno, "create", file_);
  }
  const struct stat open = status_of(fd_.get(), file_);
  struct stat named {};
  const bool is_there = ::fstatat(directory_fd_.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == open.st_dev &&
                        named.st_ino == open.st_ino;
  if (!is_there) return false;
  if (!S_ISREG(open.st_mode) || open.st_nlink != 1) throw UsageError(fmt::format("{} is in the way: remove it", in_quotes(directory_)));
  ours_ = true;
  return true;
}

NewFile::~NewFile() {
  if (!ours_) return;
  const SignalsHeld held;
  ended_by_signal_.reset();
  ::unlinkat(directory_fd_.get(), name_.c_str(), 0);
  ::rmdir(directory_.c_str());  // not where another process is at work without locks
}

void NewFile::keep_old() {
  check_replaceable(old_name());
  keeps_old_ = true;
}

/// Gives the old file the name FILE~. Where there are links, it has both names until the new file takes the first one.
void NewFile::put_old_aside() {
  ::unlinkat(directory_fd_.get(), aside_name, 0);
  const bool is_linked = ::linkat(AT_FDCWD, file_.c_str(), directory_fd_.get(), aside_name, 0) == 0;
  if (!is_linked && errno == ENOENT) return;
  const int from = is_linked ? directory_fd_.get() : AT_FDCWD;
  const char* const name = is_linked ? aside_name : file_.c_str();
  const int error = ::renameat(from, name, AT_FDCWD, old_name().c_str()) == 0 ? 0 : errno;
  ::unlinkat(directory_fd_.get(), aside_name, 0);  // rename() leaves it where both names were names of one file
  if (error != 0) throw SysError(error, "replace", old_name());
}

void NewFile::keep() {
  if (::fsync(fd_.get()) != 0) throw SysError(errno, "write", file_);
  {
    const SignalsHeld held;
    if (keeps_old_) put_old_aside();
    if (::renameat(directory_fd_.get(), name_.c_str(), AT_FDCWD, file_.c_str()) != 0) throw SysError(errno, "replace", file_);
    ours_ = false;
    ended_by_signal_.reset();
    ::rmdir(directory_.c_str());  // not where another process has just begun in it
  }
  const std::size_t slash = file_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : file_.substr(0, slash + 1);
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (fd) ::fsync(fd.get());  // the file is whole; at worst a crash of the host brings the old one back
}

}  // namespace ib::snapshot
