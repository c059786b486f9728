/* The faulty disk of the fault rig: a library for LD_PRELOAD that counts, logs and disturbs the file-system calls of a process.

   Only calls on paths below one folder count (`faults_watch`), and only in the process that armed the library
   (`faults_arm`): a child that it starts, git for instance, has a sound disk. Nothing is done until it is armed.

   Every call goes straight to the kernel, so the order of the calls is what the disk would see. Writes through mmap
   are not seen: SQLite writes its -shm file so, which does not survive a crash anyway. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The kinds of calls; shim.py has the same table. */
enum { OPEN_READ, OPEN_WRITE, READ, WRITE, SYNC, RENAME, LINK, SYMLINK, UNLINK, MKDIR, RMDIR, TRUNCATE, CLOSE, LOCK, MODE, TIME, CREATE };
/* What happens at the call. */
enum { PASS, FAIL_ONCE, FAIL_FROM, SHORT, KILL_AFTER, KILL_TORN, KILL_BEFORE };
enum { EXCHANGED = 1, CUT = 2, APPENDED = 4 };

struct shared { /* outlives the process: the rig reads it */
    int64_t count, hit, failed;
    int32_t hit_kind, hit_errno;
    char hit_path[1024];
};

struct record { /* of the log, followed by both paths and the data */
    int64_t number, result, offset;
    uint64_t inode, other;
    uint32_t kind, flags, path, path2, data, error;
} __attribute__((packed));

#define FILES 4096
static char *paths[FILES];
static char root[PATH_MAX];
static size_t root_length;
static struct shared *shared;
static int mode, error_number, log_file = -1, keeps_data;
static int64_t wanted;
static uint32_t mask;
static pid_t armed;
static long ahead;

static int ours(void) { return armed && syscall(SYS_getpid) == armed; }

static int below(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The path with its folder resolved; the last part is not followed. */
static int place(int folder, const char *path, char *out) {
    char whole[PATH_MAX * 2], *last;
    if (!path || !*path) return 0;
    if (*path == '/') snprintf(whole, sizeof whole, "%s", path);
    else {
        char base[PATH_MAX];
        if (folder == AT_FDCWD) {
            if (syscall(SYS_getcwd, base, sizeof base) < 0) return 0;
        } else {
            char link[64];
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
            ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, base, sizeof base - 1);
            if (n < 0) return 0;
            base[n] = 0;
        }
        snprintf(whole, sizeof whole, "%s/%s", base, path);
    }
    for (size_t n = strlen(whole); n > 1 && whole[n - 1] == '/';) whole[--n] = 0;
    last = strrchr(whole, '/');
    if (!last) return 0;
    *last = 0;
    char real[PATH_MAX];
    if (!realpath(*whole ? whole : "/", real)) return 0;
    return snprintf(out, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", last + 1) < PATH_MAX && below(out);
}

static uint64_t inode_of(const char *path) {
    struct stat found;
    return fstatat(AT_FDCWD, path, &found, AT_SYMLINK_NOFOLLOW) ? 0 : found.st_ino;
}

static uint64_t inode_open(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        ssize_t n = syscall(SYS_write, log_file, at, size);
        if (n <= 0) return;
        at += n;
        size -= n;
    }
}

static void note(int64_t number, int kind, int64_t result, int64_t offset, uint64_t inode, uint64_t other, uint32_t flags,
                 const char *path, const char *path2, const void *data, size_t size) {
    if (log_file < 0) return;
    int before = errno;
    struct record row = {number, result, offset, inode, other, kind, flags, strlen(path), path2 ? strlen(path2) : 0,
                         keeps_data && data ? size : 0, result < 0 ? before : 0};
    put(&row, sizeof row);
    put(path, row.path);
    if (path2) put(path2, row.path2);
    if (row.data) put(data, size);
    errno = before;
}

static void die(void) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) pause();
}

/* Counts a call; says what is to be done with it. A call that fails has set errno. */
static int gate(int kind, const char *path, int64_t *number) {
    *number = __atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
    int hit = mode && *number == wanted;
    if (hit) {
        shared->hit = *number;
        shared->hit_kind = kind;
        snprintf(shared->hit_path, sizeof shared->hit_path, "%s", path);
    }
    if (mode == FAIL_FROM && *number >= wanted && (mask >> kind & 1)) {
        shared->failed++;
        errno = error_number;
        return FAIL_ONCE;
    }
    if (!hit || mode == FAIL_FROM) return PASS;
    if (mode == KILL_BEFORE) die();
    if (mode == FAIL_ONCE) {
        shared->failed++;
        errno = error_number;
    }
    return mode;
}

static void leave(int action) {
    if (action == KILL_AFTER || action == KILL_TORN) die();
}

/* --- for the rig ------------------------------------------------------------------------------------------------- */

struct shared *faults_watch(const char *folder) {
    if (!realpath(folder, root)) return NULL;
    root_length = strlen(root);
    if (!shared) shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared;
}

int faults_arm(int what, int64_t number, int error, uint32_t kinds, const char *log, int data) {
    mode = what, wanted = number, error_number = error, mask = kinds, keeps_data = data;
    memset(shared, 0, sizeof *shared);
    if (log && *log) {
        int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0) return -1;
        log_file = fcntl(fd, F_DUPFD_CLOEXEC, FILES - 96);
        syscall(SYS_close, fd);
        if (log_file < 0) return -1;
    }
    armed = syscall(SYS_getpid);
    return 0;
}

void faults_disarm(void) { armed = 0; }
void faults_clock(long seconds) { ahead = seconds; }

/* A process of its own is armed by its environment, to show that the copies which the rig forks make the same calls. */
__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("HOLDFAST_FAULTS_ROOT"), *log = getenv("HOLDFAST_FAULTS_LOG");
    if (folder && log && faults_watch(folder)) faults_arm(PASS, 0, 0, 0, log, 0);
    unsetenv("LD_PRELOAD"); /* what it starts has a sound disk */
}

/* --- the calls --------------------------------------------------------------------------------------------------- */

static const char *path_of(int fd) { return fd >= 0 && fd < FILES ? paths[fd] : NULL; }

static int opened(int folder, const char *name, int flags, mode_t rights) {
    char path[PATH_MAX];
    int64_t number;
    if (!ours() || !place(folder, name, path)) return syscall(SYS_openat, folder, name, flags, rights);
    int writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
    int is_new = flags & O_CREAT && !inode_of(path);
    int kind = is_new ? CREATE : writes ? OPEN_WRITE : OPEN_READ;
    int action = gate(kind, path, &number);
    if (action == FAIL_ONCE) return note(number, kind, -1, 0, 0, 0, 0, path, NULL, NULL, 0), -1;
    int fd = syscall(SYS_openat, folder, name, flags, rights);
    if (fd >= 0 && fd < FILES) {
        char link[64], real[PATH_MAX];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, real, sizeof real - 1);
        real[n < 0 ? 0 : n] = 0;
        free(paths[fd]);
        paths[fd] = below(real) ? strdup(real) : NULL;
    }
    note(number, kind, fd, 0, fd < 0 ? 0 : inode_open(fd), 0, flags & O_TRUNC ? CUT : 0, path, NULL, NULL, 0);
    leave(action);
    return fd;
}

#define RIGHTS(flags) \
    mode_t rights = 0; \
    if ((flags) & (O_CREAT | __O_TMPFILE)) { \
        va_list more; \
        va_start(more, flags); \
        rights = va_arg(more, mode_t); \
        va_end(more); \
    }
int open(const char *name, int flags, ...) { RIGHTS(flags) return opened(AT_FDCWD, name, flags, rights); }
int open64(const char *name, int flags, ...) { RIGHTS(flags) return opened(AT_FDCWD, name, flags | O_LARGEFILE, rights); }
int openat(int folder, const char *name, int flags, ...) { RIGHTS(flags) return opened(folder, name, flags, rights); }
int openat64(int folder, const char *name, int flags, ...) { RIGHTS(flags) return opened(folder, name, flags | O_LARGEFILE, rights); }
int __open_2(const char *name, int flags) { return opened(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return opened(AT_FDCWD, name, flags | O_LARGEFILE, 0); }
int __openat_2(int folder, const char *name, int flags) { return opened(folder, name, flags, 0); }
int __openat64_2(int folder, const char *name, int flags) { return opened(folder, name, flags | O_LARGEFILE, 0); }
int creat(const char *name, mode_t rights) { return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, rights); }
int creat64(const char *name, mode_t rights) { return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, rights); }

/* One write of any form; offset -1 is the file's own. */
static ssize_t wrote(int fd, const void *data, size_t size, int64_t offset) {
    const char *path = ours() ? path_of(fd) : NULL;
    int64_t number;
    if (!path) return offset < 0 ? syscall(SYS_write, fd, data, size) : syscall(SYS_pwrite64, fd, data, size, offset);
    int action = gate(WRITE, path, &number);
    if (action == FAIL_ONCE) return note(number, WRITE, -1, 0, 0, 0, 0, path, NULL, NULL, 0), -1;
    size_t some = (action == SHORT || action == KILL_TORN) && size > 1 ? size / 2 : size;
    ssize_t n = offset < 0 ? syscall(SYS_write, fd, data, some) : syscall(SYS_pwrite64, fd, data, some, offset);
    int64_t at = offset < 0 && n >= 0 ? lseek(fd, 0, SEEK_CUR) - n : offset;
    note(number, WRITE, n, at, inode_open(fd), 0, 0, path, NULL, data, n > 0 ? n : 0);
    leave(action);
    return n;
}

static ssize_t wrote_parts(int fd, const struct iovec *parts, int count, int64_t offset) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += parts[i].iov_len;
    char *whole = malloc(size ? size : 1), *at = whole;
    if (!whole) return errno = ENOMEM, -1;
    for (int i = 0; i < count; at += parts[i++].iov_len) memcpy(at, parts[i].iov_base, parts[i].iov_len);
    ssize_t n = wrote(fd, whole, size, offset);
    free(whole);
    return n;
}

ssize_t write(int fd, const void *data, size_t size) { return wrote(fd, data, size, -1); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) { return wrote(fd, data, size, offset); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) { return wrote(fd, data, size, offset); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    return path_of(fd) && ours() ? wrote_parts(fd, parts, count, -1) : syscall(SYS_writev, fd, parts, count);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return wrote_parts(fd, parts, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return wrote_parts(fd, parts, count, offset); }

/* Copies inside the kernel: below the folder they are refused, and callers copy by read and write instead. */
ssize_t sendfile(int to, int from, off_t *offset, size_t size) {
    if (ours() && path_of(to)) return errno = ENOTSOCK, -1;
    return syscall(SYS_sendfile, to, from, offset, size);
}
ssize_t sendfile64(int to, int from, off64_t *offset, size_t size) { return sendfile(to, from, (off_t *)offset, size); }
ssize_t copy_file_range(int from, off64_t *in, int to, off64_t *out, size_t size, unsigned flags) {
    if (ours() && path_of(to)) return errno = EOPNOTSUPP, -1;
    return syscall(SYS_copy_file_range, from, in, to, out, size, flags);
}

static ssize_t got(int fd, void *data, size_t size, int64_t offset) {
    const char *path = ours() ? path_of(fd) : NULL;
    int64_t number;
    if (!path) return offset < 0 ? syscall(SYS_read, fd, data, size) : syscall(SYS_pread64, fd, data, size, offset);
    int action = gate(READ, path, &number);
    if (action == FAIL_ONCE) return note(number, READ, -1, 0, 0, 0, 0, path, NULL, NULL, 0), -1;
    size_t some = action == SHORT && size > 1 ? size / 2 : size;
    ssize_t n = offset < 0 ? syscall(SYS_read, fd, data, some) : syscall(SYS_pread64, fd, data, some, offset);
    note(number, READ, n, offset, 0, 0, 0, path, NULL, NULL, 0);
    leave(action);
    return n;
}

ssize_t read(int fd, void *data, size_t size) { return got(fd, data, size, -1); }
ssize_t pread(int fd, void *data, size_t size, off_t offset) { return got(fd, data, size, offset); }
ssize_t pread64(int fd, void *data, size_t size, off64_t offset) { return got(fd, data, size, offset); }
ssize_t __read_chk(int fd, void *data, size_t size, size_t room) { (void)room; return got(fd, data, size, -1); }
ssize_t __pread_chk(int fd, void *data, size_t size, off_t offset, size_t room) { (void)room; return got(fd, data, size, offset); }
ssize_t __pread64_chk(int fd, void *data, size_t size, off64_t offset, size_t room) { (void)room; return got(fd, data, size, offset); }

/* A call on an open file. */
#define ON_FILE(kind, fd, real, offset_) \
    const char *path = ours() ? path_of(fd) : NULL; \
    int64_t number; \
    if (!path) return real; \
    int action = gate(kind, path, &number); \
    if (action == FAIL_ONCE) return note(number, kind, -1, 0, 0, 0, 0, path, NULL, NULL, 0), -1; \
    int result = real; \
    note(number, kind, result, offset_, inode_open(fd), 0, 0, path, NULL, NULL, 0); \
    leave(action); \
    return result;
int fsync(int fd) { ON_FILE(SYNC, fd, syscall(SYS_fsync, fd), 0) }
int fdatasync(int fd) { ON_FILE(SYNC, fd, syscall(SYS_fdatasync, fd), 0) }
int ftruncate(int fd, off_t size) { ON_FILE(TRUNCATE, fd, syscall(SYS_ftruncate, fd, size), size) }
int ftruncate64(int fd, off64_t size) { ON_FILE(TRUNCATE, fd, syscall(SYS_ftruncate, fd, size), size) }
int flock(int fd, int how) { ON_FILE(LOCK, fd, syscall(SYS_flock, fd, how), 0) }
int fchmod(int fd, mode_t rights) { ON_FILE(MODE, fd, syscall(SYS_fchmod, fd, rights), 0) }
int fchown(int fd, uid_t user, gid_t group) { ON_FILE(MODE, fd, syscall(SYS_fchown, fd, user, group), 0) }
int futimens(int fd, const struct timespec times[2]) { ON_FILE(TIME, fd, syscall(SYS_utimensat, fd, NULL, times, 0), 0) }

static int locked(int fd, int command, void *argument) { ON_FILE(LOCK, fd, syscall(SYS_fcntl, fd, command, argument), 0) }
static int controlled(int fd, int command, void *argument) {
    if (command == F_SETLK || command == F_SETLKW) return locked(fd, command, argument);
    int result = syscall(SYS_fcntl, fd, command, argument);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && result >= 0 && result < FILES && ours()) {
        free(paths[result]);
        paths[result] = path_of(fd) ? strdup(path_of(fd)) : NULL;
    }
    return result;
}
#define ARGUMENT(command) \
    va_list more; \
    va_start(more, command); \
    void *argument = va_arg(more, void *); \
    va_end(more);
int fcntl(int fd, int command, ...) { ARGUMENT(command) return controlled(fd, command, argument); }
int fcntl64(int fd, int command, ...) { ARGUMENT(command) return controlled(fd, command, argument); }

static int copied(int fd, int other, int flags) {
    if (fd == other && !flags) return syscall(SYS_fcntl, fd, F_GETFD) < 0 ? -1 : fd;
    int result = syscall(SYS_dup3, fd, other, flags);
    if (result >= 0 && result < FILES && ours()) {
        free(paths[result]);
        paths[result] = path_of(fd) ? strdup(path_of(fd)) : NULL;
    }
    return result;
}
int dup2(int fd, int other) { return copied(fd, other, 0); }
int dup3(int fd, int other, int flags) { return copied(fd, other, flags); }
int dup(int fd) { return controlled(fd, F_DUPFD, 0); }

int close(int fd) {
    const char *path = ours() ? path_of(fd) : NULL;
    int64_t number;
    if (fd == log_file && log_file >= 0) return 0;
    if (!path) return syscall(SYS_close, fd);
    int action = gate(CLOSE, path, &number);
    int result = syscall(SYS_close, fd); /* a close that reports an error has closed the file all the same */
    if (action == FAIL_ONCE) result = -1, errno = error_number;
    note(number, CLOSE, result, 0, 0, 0, 0, path, NULL, NULL, 0);
    free(paths[fd]);
    paths[fd] = NULL;
    leave(action);
    return result;
}

/* A call on a name. */
#define ON_NAME(kind, folder, name, real, gone, offset_) \
    char path[PATH_MAX]; \
    int64_t number; \
    if (!ours() || !place(folder, name, path)) return real; \
    uint64_t before = gone ? inode_of(path) : 0; \
    int action = gate(kind, path, &number); \
    if (action == FAIL_ONCE) return note(number, kind, -1, 0, 0, 0, 0, path, NULL, NULL, 0), -1; \
    int result = real; \
    note(number, kind, result, offset_, gone ? before : inode_of(path), 0, 0, path, NULL, NULL, 0); \
    leave(action); \
    return result;
static int removed(int folder, const char *name, int flags) {
    ON_NAME(flags & AT_REMOVEDIR ? RMDIR : UNLINK, folder, name, syscall(SYS_unlinkat, folder, name, flags), 1, 0)
}
int unlink(const char *name) { return removed(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return removed(AT_FDCWD, name, AT_REMOVEDIR); }
int unlinkat(int folder, const char *name, int flags) { return removed(folder, name, flags); }
int mkdirat(int folder, const char *name, mode_t rights) {
    ON_NAME(MKDIR, folder, name, syscall(SYS_mkdirat, folder, name, rights), 0, 0)
}
int mkdir(const char *name, mode_t rights) { return mkdirat(AT_FDCWD, name, rights); }
int truncate64(const char *name, off64_t size) { ON_NAME(TRUNCATE, AT_FDCWD, name, syscall(SYS_truncate, name, size), 0, size) }
int truncate(const char *name, off_t size) { return truncate64(name, size); }
int fchmodat(int folder, const char *name, mode_t rights, int flags) {
    (void)flags;
    ON_NAME(MODE, folder, name, syscall(SYS_fchmodat, folder, name, rights), 0, 0)
}
int chmod(const char *name, mode_t rights) { return fchmodat(AT_FDCWD, name, rights, 0); }
int fchownat(int folder, const char *name, uid_t user, gid_t group, int flags) {
    ON_NAME(MODE, folder, name, syscall(SYS_fchownat, folder, name, user, group, flags), 0, 0)
}
int chown(const char *name, uid_t user, gid_t group) { return fchownat(AT_FDCWD, name, user, group, 0); }
int lchown(const char *name, uid_t user, gid_t group) { return fchownat(AT_FDCWD, name, user, group, AT_SYMLINK_NOFOLLOW); }
int utimensat(int folder, const char *name, const struct timespec times[2], int flags) {
    ON_NAME(TIME, folder, name, syscall(SYS_utimensat, folder, name, times, flags), 0, 0)
}

/* A call on two names. */
#define ON_NAMES(kind, from_folder, from, to_folder, to, real, flags_, target) \
    char path[PATH_MAX], path2[PATH_MAX]; \
    int64_t number; \
    int one = ours() && place(from_folder, from, path), other = ours() && place(to_folder, to, path2); \
    if (!one && !other) return real; \
    if (!one) snprintf(path, sizeof path, "%s", from); \
    if (!other) snprintf(path2, sizeof path2, "%s", to); \
    uint64_t before = inode_of(path), there = inode_of(path2); \
    int action = gate(kind, other ? path2 : path, &number); \
    if (action == FAIL_ONCE) return note(number, kind, -1, 0, 0, 0, 0, path, path2, NULL, 0), -1; \
    int result = real; \
    note(number, kind, result, 0, target ? inode_of(path2) : before, there, flags_, path, path2, NULL, 0); \
    leave(action); \
    return result;
int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    ON_NAMES(RENAME, from_folder, from, to_folder, to, syscall(SYS_renameat2, from_folder, from, to_folder, to, flags),
             flags & 2 ? EXCHANGED : 0, 0)
}
int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_folder, const char *from, int to_folder, const char *to) { return renameat2(from_folder, from, to_folder, to, 0); }
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    ON_NAMES(LINK, from_folder, from, to_folder, to, syscall(SYS_linkat, from_folder, from, to_folder, to, flags), 0, 0)
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }
int symlinkat(const char *text, int folder, const char *name) {
    char path[PATH_MAX];
    int64_t number;
    if (!ours() || !place(folder, name, path)) return syscall(SYS_symlinkat, text, folder, name);
    int action = gate(SYMLINK, path, &number);
    if (action == FAIL_ONCE) return note(number, SYMLINK, -1, 0, 0, 0, 0, path, text, NULL, 0), -1;
    int result = syscall(SYS_symlinkat, text, folder, name);
    note(number, SYMLINK, result, 0, inode_of(path), 0, 0, path, text, NULL, 0);
    leave(action);
    return result;
}
int symlink(const char *text, const char *name) { return symlinkat(text, AT_FDCWD, name); }

/* --- the clock: the run after a fault comes later, when what is left behind is old -------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    if (!result && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead;
    return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec at;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &at)) return -1;
    now->tv_sec = at.tv_sec;
    now->tv_usec = at.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec at;
    if (clock_gettime(CLOCK_REALTIME, &at)) return (time_t)-1;
    if (now) *now = at.tv_sec;
    return at.tv_sec;
}
