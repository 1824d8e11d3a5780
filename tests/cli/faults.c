// A preloaded library that fails, shortens or ends a process at the n-th system call by which it
// changes a folder. A process is armed by `faults_arm`; its parent, which made the memory that
// both share, reads afterwards how many calls there were and what they were.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN = 1, CREATE = 2, WRITE = 4, SYNC = 8, RENAME = 16, REMOVE = 32, CLOSE = 64 };
enum action { FAIL, SHORTEN, KILL, TEAR };  // a torn write ends the process half way
enum { MOST_CALLS = 65536, NAME = 24 };

static struct {
    atomic_long n_calls;
    char names[MOST_CALLS][NAME];
}* shared;

static char folder[PATH_MAX];
static int kinds, action, error, lasting;
static long at;

__attribute__((constructor)) static void share(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void faults_arm(const char* path, int kinds_, long at_, int action_, int error_, int lasting_) {
    kinds = kinds_, at = at_, action = action_, error = error_, lasting = lasting_;
    atomic_store(&shared->n_calls, 0);
    snprintf(folder, sizeof folder, "%s", path);
}

long faults_calls(void) { return atomic_load(&shared->n_calls); }

const char* faults_name(long n) { return n <= MOST_CALLS ? shared->names[n - 1] : ""; }

// Whether a file, named from a directory that is open, or an open file itself, is in the folder.
static int inside(int directory, const char* path) {
    char full[2 * PATH_MAX] = "", link[40];
    if (!*folder || shared == MAP_FAILED) return 0;
    if (path == NULL || *path != '/') {
        snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
                 directory);
        ssize_t length = readlink(link, full, PATH_MAX);
        if (length < 0) return 0;
        full[length] = '/';
        full[length + 1] = 0;
    }
    if (path != NULL) strncat(full, path, PATH_MAX - 1);
    size_t length = strlen(folder);
    return strncmp(full, folder, length) == 0 && (full[length] == '/' || full[length] == 0);
}

// Count a call; return whether it is to be struck.
static int struck(const char* name, int kind, int directory, const char* path) {
    int former = errno, strike = 0;
    if ((kind & kinds) && inside(directory, path)) {
        long n = atomic_fetch_add(&shared->n_calls, 1) + 1;
        if (n <= MOST_CALLS)
            snprintf(shared->names[n - 1], NAME, kind == OPEN ? "%s (r)" : "%s", name);
        strike = n == at || (lasting && at > 0 && n > at);
    }
    errno = former;
    if (strike && action == KILL) kill(getpid(), SIGKILL);
    return strike;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAILS(kind, directory, path) \
    if (struck(__func__, kind, directory, path) && action == FAIL) return errno = error, -1

#define OPENED(name, first, directory, path, ...)                                      \
    int name(first, int flags, ...) {                                                  \
        va_list rest;                                                                  \
        va_start(rest, flags);                                                         \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;      \
        va_end(rest);                                                                  \
        FAILS(flags & (O_CREAT | O_WRONLY | O_RDWR) ? CREATE : OPEN, directory, path); \
        return REAL(name)(__VA_ARGS__, flags, mode);                                   \
    }
#define FIRST const char* path
#define AT int directory, const char *path
OPENED(open, FIRST, AT_FDCWD, path, path)
OPENED(open64, FIRST, AT_FDCWD, path, path)
OPENED(openat, AT, directory, path, directory, path)
OPENED(openat64, AT, directory, path, directory, path)

#define WRITTEN(name, n_bytes, whole, half, ...)                                    \
    ssize_t name(int file, __VA_ARGS__) {                                           \
        int strike = struck(__func__, WRITE, file, NULL);                           \
        if (strike && action == FAIL) return errno = error, -1;                     \
        if (!strike || (action == SHORTEN && n_bytes < 2)) return REAL(name) whole; \
        ssize_t done = REAL(name) half;                                             \
        if (action == TEAR) kill(getpid(), SIGKILL);                                \
        return done;                                                                \
    }
#define DATA const void *data, size_t size
WRITTEN(write, size, (file, data, size), (file, data, size / 2), DATA)
WRITTEN(pwrite, size, (file, data, size, to), (file, data, size / 2, to), DATA, off_t to)
WRITTEN(pwrite64, size, (file, data, size, to), (file, data, size / 2, to), DATA, off64_t to)
WRITTEN(writev, n, (file, parts, n), (file, parts, n / 2), const struct iovec* parts, int n)

#define SIMPLE(name, kind, directory, path, arguments, ...) \
    int name(__VA_ARGS__) {                                 \
        FAILS(kind, directory, path);                       \
        return REAL(name) arguments;                        \
    }
SIMPLE(fsync, SYNC, file, NULL, (file), int file)
SIMPLE(fdatasync, SYNC, file, NULL, (file), int file)
SIMPLE(ftruncate, WRITE, file, NULL, (file, size), int file, off_t size)
SIMPLE(ftruncate64, WRITE, file, NULL, (file, size), int file, off64_t size)
SIMPLE(rename, RENAME, AT_FDCWD, to, (from, to), const char* from, const char* to)
SIMPLE(renameat, RENAME, new, to, (old, from, new, to), int old, const char* from, int new,
       const char* to)
SIMPLE(link, CREATE, AT_FDCWD, to, (from, to), const char* from, const char* to)
SIMPLE(linkat, CREATE, new, to, (old, from, new, to, flags), int old, const char* from, int new,
       const char* to, int flags)
SIMPLE(mkdir, CREATE, AT_FDCWD, path, (path, mode), const char* path, mode_t mode)
SIMPLE(mkdirat, CREATE, directory, path, (directory, path, mode), AT, mode_t mode)
SIMPLE(chmod, CREATE, AT_FDCWD, path, (path, mode), const char* path, mode_t mode)
SIMPLE(fchmodat, CREATE, directory, path, (directory, path, mode, flags), AT, mode_t mode,
       int flags)
SIMPLE(unlink, REMOVE, AT_FDCWD, path, (path), FIRST)
SIMPLE(unlinkat, REMOVE, directory, path, (directory, path, flags), AT, int flags)
SIMPLE(rmdir, REMOVE, AT_FDCWD, path, (path), FIRST)

int close(int file) {
    int reads = (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY;
    int strike = struck(reads ? "close (r)" : "close", CLOSE, file, NULL);
    int done = REAL(close)(file);  // a file is closed, whatever is said of it
    return strike && action == FAIL ? (errno = error, -1) : done;
}
