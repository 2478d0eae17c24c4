/* Symbols of MA27's documented interface.
 *
 * Ipopt loads this library by its option hsllib and calls the four functions. graphsys.interop.ipopt
 * has loaded the same file before and has set graphsys_callbacks. Python analyzes a pattern, and
 * factorizes the first matrix; then it lends what the compiled kernels of graphsys work on. As long
 * as their factors are good, no call needs Python. No HSL code is used.
 *
 * A program that has no Python gets the one that has compiled this file. Lines before the first
 * define PYTHON_LIBRARY, a path, or "" if Python has no shared library; PYTHON_HOME; PYTHON_CODE,
 * which takes the path of this library in the place of %s.
 */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#include <dlfcn.h>
#define PUBLIC __attribute__((visibility("default")))
#endif

/* Of INFO(1): an index out of range, a warning; a singular matrix; and errors that MA27 does not
 * have: Python was not there, an exception in Python. */
enum { OUT_OF_RANGE = 1, SINGULAR = -5, NOT_READY = -100, FAILED = -101 };
/* What a callback or a kernel returns instead of a handle or a count: the factors are doubtful, or
 * the matrix singular; the handle is unknown. */
enum { DOUBTFUL = -1, UNKNOWN = -2 };
/* What a callback returns that a signal handler of Python's has ended, such as that of Ctrl-C. It is
 * what ctypes returns if the exception comes before the callback's first line. */
enum { INTERRUPTED = 0 };

typedef int64_t kernel(const int64_t *frame, int64_t length, double *numbers, int64_t count);

/* Set by Python. Analysis: a handle. Factorization: 1 + the number of negative eigenvalues;
 * ``tried`` if the kernel was. Solution, in rhs: 1. The kernels may be missing. */
struct callbacks {
    int (*analyze)(int n, int nz, const int *irn, const int *icn);
    int (*factorize)(int handle, int nz, const double *a, double pivtol, int tried);
    int (*solve)(int handle, int n, double *rhs);
    kernel *factorize_framed, *solve_framed;
    double weak_up_to; /* largest pivtol of the kernel */
};
PUBLIC struct callbacks graphsys_callbacks;

/* Call Python, and once more if it is interrupted: Ipopt has no way to stop here. Whoever runs Ipopt
 * gets the signal again after the call of MA27, and stops as with any other solver. */
#define UNINTERRUPTED(found, call)         \
    do {                                   \
        (found) = (call);                  \
        if ((found) == INTERRUPTED) {      \
            (found) = (call);              \
            atomic_store(&interrupted, 1); \
        }                                  \
    } while (0)

static atomic_int interrupted;

static void raise_again(void)
{
    if (atomic_exchange(&interrupted, 0))
        raise(SIGINT);
}

/* What Python has lent. One thread at a time is inside. */
enum { SLOTS = 64 };
static struct slot {
    atomic_int handle, inside;
    const int64_t *frame;
    int64_t length;
    int n, nz;
    int factored, used; /* whether the factors are of the last matrix; see graphsys_used */
} slots[SLOTS];

static void leave(struct slot *slot)
{
    atomic_store(&slot->inside, 0);
}

static struct slot *locked(int handle)
{
    struct slot *slot = &slots[(unsigned)handle % SLOTS];
    while (atomic_exchange(&slot->inside, 1))
        ; /* another thread is in a kernel, or here */
    return slot;
}

/* The slot of a handle, entered; null where Python has lent nothing. */
static struct slot *enter(int handle)
{
    struct slot *slot = locked(handle);
    if (handle != 0 && atomic_load(&slot->handle) == handle)
        return slot;
    leave(slot);
    return 0;
}

/* Lend a frame, for n rows and nz entries, unless another handle has the slot. */
PUBLIC void graphsys_lend(int handle, const int64_t *frame, int64_t length, int n, int nz,
                          int factored)
{
    struct slot *slot = locked(handle);
    if (atomic_load(&slot->handle) == 0) {
        slot->frame = frame, slot->length = length, slot->n = n, slot->nz = nz;
        slot->factored = factored, slot->used = 0;
        atomic_store(&slot->handle, handle);
    }
    leave(slot);
}

/* Take a frame back, when no thread works with it. */
PUBLIC void graphsys_take(int handle)
{
    struct slot *slot = enter(handle);
    if (slot) {
        atomic_store(&slot->handle, 0);
        leave(slot);
    }
}

/* Take all back. */
PUBLIC void graphsys_take_all(void)
{
    for (int k = 0; k < SLOTS; k++)
        graphsys_take(atomic_load(&slots[k].handle));
}

/* Whether a frame was used since it was lent, or since the last such question. */
PUBLIC int graphsys_used(int handle)
{
    struct slot *slot = enter(handle);
    int used = 0;
    if (slot) {
        used = slot->used;
        slot->used = 0;
        leave(slot);
    }
    return used;
}

#ifdef _WIN32
static void start_python(void) {}
#else
/* The function of a name, of any type. */
#define FIND(function, library, name) (*(void **)&(function) = dlsym(library, name))

/* Start Python, unless the process has one, which must call graphsys.ipopt.library() itself. */
static void start_python(void)
{
    int (*is_there)(void), (*run)(const char *);
    void (*initialize)(int), *(*release)(void);
    FIND(is_there, RTLD_DEFAULT, "Py_IsInitialized");
    if (!PYTHON_LIBRARY[0] || (is_there && is_there()))
        return;
    void *python = dlopen(PYTHON_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    if (!python) {
        fprintf(stderr, "graphsys: %s\n", dlerror());
        return;
    }
    FIND(is_there, python, "Py_IsInitialized");
    FIND(initialize, python, "Py_InitializeEx");
    FIND(run, python, "PyRun_SimpleString");
    FIND(release, python, "PyEval_SaveThread");
    Dl_info here;
    dladdr((void *)&graphsys_callbacks, &here);
    size_t size = sizeof PYTHON_CODE + strlen(here.dli_fname);
    char *code = malloc(size), *home = getenv("PYTHONHOME");
    if (!code || !is_there || is_there())
        return;
    home = home ? strdup(home) : 0;
    setenv("PYTHONHOME", PYTHON_HOME, 1);
    initialize(0); /* without its signal handlers: Ctrl-C stays the program's */
    home ? setenv("PYTHONHOME", home, 1) : unsetenv("PYTHONHOME");
    snprintf(code, size, PYTHON_CODE, here.dli_fname);
    run(code);
    release();
    free(code);
    free(home);
}
#endif

static int greeted, started;

static int ready(void)
{
    if (!graphsys_callbacks.analyze && !started) {
        started = 1;
        start_python();
    }
    if (!graphsys_callbacks.analyze) {
        fputs(PYTHON_LIBRARY[0]
                  ? "graphsys: this process has a Python that has not called "
                    "graphsys.ipopt.library(), or graphsys cannot be imported\n"
                  : "graphsys: this library works only in a Python process that has called "
                    "graphsys.ipopt.library(), as Python has no shared library\n",
              stderr);
        return 0;
    }
    if (!greeted) {
        greeted = 1;
        fputs("linear_solver ma27 is graphsys (through the interface of MA27; no HSL code)\n",
              stderr);
    }
    return 1;
}

static void clear(int *info)
{
    for (int i = 0; i < 20; i++)
        info[i] = 0;
}

/* Handle of a new factorization; 0 where info has an error. */
static int analyze(int n, int nz, const int *irn, const int *icn, int *info)
{
    int outside = 0;
    for (int k = 0; k < nz; k++)
        outside += irn[k] < 1 || irn[k] > n || icn[k] < 1 || icn[k] > n;
    if (outside) {
        info[0] = OUT_OF_RANGE, info[1] = outside;
        return 0;
    }
    if (n == 0)
        return 0;
    int handle;
    UNINTERRUPTED(handle, graphsys_callbacks.analyze(n, nz, irn, icn));
    if (handle > 0)
        return handle;
    info[0] = FAILED;
    return 0;
}

static int factorize(int handle, int nz, double *a, double pivtol)
{
    int64_t found = UNKNOWN;
    struct slot *slot = pivtol <= graphsys_callbacks.weak_up_to ? enter(handle) : 0;
    if (slot) {
        if (slot->nz == nz)
            found = graphsys_callbacks.factorize_framed(slot->frame, slot->length, a, nz);
        slot->factored = found >= 0, slot->used = 1;
        leave(slot);
    }
    if (found >= 0)
        return (int)found;
    int by_python, tried = found == DOUBTFUL;
    UNINTERRUPTED(by_python, graphsys_callbacks.factorize(handle, nz, a, pivtol, tried));
    return by_python > 0 ? by_python - 1 : by_python == INTERRUPTED ? FAILED : by_python;
}

static void solve(int handle, int n, double *rhs)
{
    struct slot *slot = enter(handle);
    int factored = slot && slot->factored && slot->n == n;
    if (factored)
        graphsys_callbacks.solve_framed(slot->frame, slot->length, rhs, n), slot->used = 1;
    if (slot)
        leave(slot);
    if (factored)
        return;
    int done;
    UNINTERRUPTED(done, graphsys_callbacks.solve(handle, n, rhs));
    for (int i = 0; i < n && done == INTERRUPTED; i++)
        rhs[i] = NAN;
}

PUBLIC void ma27id_(int *icntl, double *cntl)
{
    for (int i = 0; i < 30; i++)
        icntl[i] = 0;
    for (int i = 0; i < 5; i++)
        cntl[i] = 0.0;
    icntl[0] = icntl[1] = 6; /* streams for messages; nothing is printed */
    cntl[0] = 0.1;           /* pivot tolerance */
}

PUBLIC void ma27ad_(const int *n, const int *nz, const int *irn, const int *icn, int *iw,
                    const int *liw, int *ikeep, int *iw1, int *nsteps, const int *iflag,
                    const int *icntl, const double *cntl, int *info, double *ops)
{
    (void)iw, (void)liw, (void)iw1, (void)iflag, (void)icntl, (void)cntl;
    clear(info);
    *nsteps = 1;
    *ops = 0.0;
    info[4] = *nz > 0 ? *nz : 1; /* doubles that ma27bd needs: the values only */
    info[5] = 8;                 /* integers that ma27bd needs: a handle */
    if (ready())
        ikeep[0] = analyze(*n, *nz, irn, icn, info);
    else
        info[0] = NOT_READY;
}

PUBLIC void ma27bd_(const int *n, const int *nz, const int *irn, const int *icn, double *a,
                    const int *la, int *iw, const int *liw, int *ikeep, const int *nsteps,
                    int *maxfrt, int *iw1, const int *icntl, const double *cntl, int *info)
{
    (void)nsteps, (void)iw1, (void)icntl;
    clear(info);
    *maxfrt = 1;
    if (*liw < 1)
        info[0] = -3, info[1] = 1;
    else if (*la < *nz)
        info[0] = -4, info[1] = *nz;
    else if (!ready())
        info[0] = NOT_READY;
    if (info[0] != 0 || *n == 0)
        return;
    int found = factorize(ikeep[0], *nz, a, cntl[0]);
    if (found == UNKNOWN) { /* others have displaced it */
        ikeep[0] = analyze(*n, *nz, irn, icn, info);
        if (info[0] != 0)
            return;
        found = factorize(ikeep[0], *nz, a, cntl[0]);
    }
    iw[0] = ikeep[0];
    if (found >= 0)
        info[14] = found;
    else
        info[0] = found == DOUBTFUL ? SINGULAR : FAILED;
    if (info[0] != 0)
        raise_again();
}

PUBLIC void ma27cd_(const int *n, const double *a, const int *la, const int *iw, const int *liw,
                    double *w, const int *maxfrt, double *rhs, int *iw1, const int *nsteps,
                    const int *icntl, const double *cntl)
{
    (void)a, (void)la, (void)liw, (void)w, (void)maxfrt, (void)iw1, (void)nsteps, (void)icntl;
    (void)cntl;
    if (*n > 0 && ready())
        solve(iw[0], *n, rhs);
    raise_again();
}
