/* Symbols of MA27's documented interface.
 *
 * Ipopt loads this library by its option hsllib and calls the four functions. graphsys.interop.ipopt
 * has loaded the same file before and has set graphsys_callbacks. Python analyzes a pattern, and
 * factorizes its first matrix; then it lends the tables of the analysis. The compiled kernels of
 * graphsys work on them and, as MA27 does, on the caller's arrays a and iw. No call needs Python as
 * long as the pattern is known and the factors are good, of the matrix as it is or equilibrated. No
 * HSL code is used.
 *
 * A program that has no Python gets the one that has compiled this file. Lines before the first
 * define PYTHON_LIBRARY, a path, or "" if Python has no shared library; PYTHON_HOME; PYTHON_CODE,
 * which takes the path of this library in the place of %s.
 */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#include <float.h>
#include <limits.h>
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
enum {
    OUT_OF_RANGE = 1, IW_TOO_SHORT = -3, A_TOO_SHORT = -4, SINGULAR = -5,
    NOT_READY = -100, FAILED = -101
};
/* What a callback or a kernel returns instead of a count: the factors are doubtful, or the matrix
 * singular; the pattern is unknown. */
enum { DOUBTFUL = -1, UNKNOWN = -2 };
/* What a callback returns that a signal handler of Python's has ended, such as that of Ctrl-C. It is
 * what ctypes returns if the exception comes before the callback's first line. */
enum { INTERRUPTED = 0 };

typedef int64_t kernel(const int64_t *frame, int64_t length, double *numbers, int64_t count);

/* Set by Python. Analysis: number of a pattern. Factorization: 1 + the number of negative
 * eigenvalues; ``tried`` if the kernel was. Solution, in rhs: 1. The kernels may be missing. */
struct callbacks {
    int (*analyze)(int n, int nz, const int *irn, const int *icn);
    int (*factorize)(int handle, int pattern, int nz, const double *a, double pivtol, int tried);
    int (*solve)(int handle, int n, double *rhs);
    kernel *factorize_framed, *solve_framed, *equilibrate_framed;
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

/* Arrays of a frame, in the order of graphsys.kernels.frontal.framed. */
enum {
    PROGRAM, START, SOURCE, TARGET, FRONT, STACK, HEADERS, PLACE, FACTORS, NAMES, TABLE, INFO,
    SIGNS, BOUNDS, Y, X, PART, SCALE, ARRAYS
};
enum { FRAME = 2 * ARRAYS + 1, NEEDED = 2 /* of INFO: length that an array needs */ };
/* What the kernel returns where an array is too short. */
enum { FRONT_FULL = -2, STACK_FULL = -3, HEADERS_FULL = -4, FACTORS_FULL = -5, NAMES_FULL = -6 };
static const int short_array[] = {FRONT, STACK, HEADERS, FACTORS, NAMES};
enum { MAY_GROW = sizeof short_array / sizeof *short_array };

/* Of these, what C fills in a frame of graphsys.kernels.frontal.equilibration, and its length. */
enum { WHOLE = 5, REAL, SCALING, EQUILIBRATION = 2 * (SCALING + 1) + 1 };

/* Patterns that Python has lent, at the place that their number gives modulo PATTERNS. */
enum { PATTERNS = 64 };
static struct pattern {
    atomic_int number, inside; /* 0 for none; threads that read it */
    int n, nz;
    const int *irn, *icn;
    const int64_t *equilibration; /* a frame with tables, and lengths of workspace */
    _Atomic(const int64_t *) tables; /* a frame with arrays of the analysis, and other lengths */
    atomic_llong length[MAY_GROW];   /* as long as they ever had to be */
    atomic_int used;                 /* see graphsys_used */
} patterns[PATTERNS];

static void leave(struct pattern *pattern)
{
    atomic_fetch_sub(&pattern->inside, 1);
}

/* The pattern of a number, which stays until leave(); null if it is not lent. */
static struct pattern *enter(int number)
{
    struct pattern *pattern = &patterns[(unsigned)number % PATTERNS];
    atomic_fetch_add(&pattern->inside, 1);
    if (number != 0 && atomic_load(&pattern->number) == number) {
        atomic_store(&pattern->used, 1);
        return pattern;
    }
    leave(pattern);
    return 0;
}

/* Lend a pattern, whose place is free, unless it is there. */
PUBLIC void graphsys_lend(int number, int n, int nz, const int *irn, const int *icn,
                          const int64_t *equilibration)
{
    struct pattern *pattern = &patterns[(unsigned)number % PATTERNS];
    if (atomic_load(&pattern->number) != 0)
        return;
    pattern->n = n, pattern->nz = nz, pattern->irn = irn, pattern->icn = icn;
    pattern->equilibration = equilibration;
    atomic_store(&pattern->tables, 0);
    atomic_store(&pattern->used, 1);
    atomic_store(&pattern->number, number);
}

/* Lend the tables of its analysis, unless they are there. */
PUBLIC void graphsys_lend_tables(int number, const int64_t *tables)
{
    struct pattern *pattern = enter(number);
    if (!pattern)
        return;
    if (!atomic_load(&pattern->tables)) {
        for (int k = 0; k < MAY_GROW; k++)
            atomic_store(&pattern->length[k], tables[2 * short_array[k] + 1]);
        atomic_store(&pattern->tables, tables);
    }
    leave(pattern);
}

/* Take a pattern back, when no thread reads it. */
PUBLIC void graphsys_take(int number)
{
    struct pattern *pattern = enter(number);
    if (!pattern)
        return;
    atomic_store(&pattern->number, 0);
    leave(pattern);
    while (atomic_load(&pattern->inside))
        ;
}

/* Take all back. */
PUBLIC void graphsys_take_all(void)
{
    for (int k = 0; k < PATTERNS; k++)
        graphsys_take(atomic_load(&patterns[k].number));
}

/* Whether a pattern was used since it was lent, or since the last such question. */
PUBLIC int graphsys_used(int number)
{
    struct pattern *pattern = &patterns[(unsigned)number % PATTERNS];
    return atomic_load(&pattern->number) == number && atomic_exchange(&pattern->used, 0);
}

/* The number of a pattern that is lent; 0 if none is the same. */
static int known(int n, int nz, const int *irn, const int *icn)
{
    for (int k = 0; k < PATTERNS; k++) {
        struct pattern *pattern = &patterns[k];
        int number = atomic_load(&pattern->number), same;
        if (number == 0)
            continue;
        atomic_fetch_add(&pattern->inside, 1);
        same = atomic_load(&pattern->number) == number && pattern->n == n && pattern->nz == nz
               && !memcmp(pattern->irn, irn, nz * sizeof *irn)
               && !memcmp(pattern->icn, icn, nz * sizeof *icn);
        if (same)
            atomic_store(&pattern->used, 1);
        leave(pattern);
        if (same)
            return number;
    }
    return 0;
}

/* What iw begins with, at an address for int64_t: whose factors these are. Factors by the kernel
 * are in a and iw, in arrays of these lengths. */
struct state {
    int64_t handle, pattern, by_kernel, length[MAY_GROW];
};
enum { STATE_INTS = sizeof(struct state) / sizeof(int) + 1 };

static struct state *state_of(const int *iw)
{
    return (struct state *)(((uintptr_t)iw + 7) & ~(uintptr_t)7);
}

static void read_lengths(struct pattern *pattern, struct state *state)
{
    for (int k = 0; k < MAY_GROW; k++)
        state->length[k] = atomic_load(&pattern->length[k]);
}

/* Address and length of an array of numbers of 64 bits; the next one begins on a cache line. */
static char *put(int64_t *frame, int array, int64_t length, char *at)
{
    at = (char *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
    frame[2 * array] = (int64_t)(uintptr_t)at, frame[2 * array + 1] = length;
    return at + 8 * length;
}

/* Fill a frame with arrays in a, after its nz entries, and in iw: lengths of both that it takes. */
static void lay_out(const int64_t *tables, const struct state *state, double *a, int nz,
                    const int *iw, int64_t *frame, int64_t *la, int64_t *liw)
{
    memcpy(frame, tables, FRAME * sizeof *frame);
    for (int k = 0; k < MAY_GROW; k++)
        frame[2 * short_array[k] + 1] = state->length[k];
    frame[2 * PART + 1] = (int64_t)sqrt((double)frame[2 * FRONT + 1]) + 1; /* at least its rows */
    static const int reals[] = {INFO, SIGNS, FRONT, FACTORS, Y, X, PART, SCALE, STACK};
    static const int integers[] = {TABLE, NAMES, PLACE, HEADERS};
    char *at = (char *)(a + nz);
    for (unsigned k = 0; k < sizeof reals / sizeof *reals; k++)
        at = put(frame, reals[k], frame[2 * reals[k] + 1], at);
    *la = (at - (char *)a) / (int64_t)sizeof *a + 8;
    at = (char *)(state_of(iw) + 1);
    for (unsigned k = 0; k < sizeof integers / sizeof *integers; k++)
        at = put(frame, integers[k], frame[2 * integers[k] + 1], at);
    *liw = (at - (char *)iw) / (int64_t)sizeof *iw + 16;
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

/* Number of a pattern; 0 where info has an error. */
static int analyze(int n, int nz, const int *irn, const int *icn, int *info)
{
    int outside = 0, number = known(n, nz, irn, icn);
    if (number)
        return number;
    for (int k = 0; k < nz; k++)
        outside += irn[k] < 1 || irn[k] > n || icn[k] < 1 || icn[k] > n;
    if (outside) {
        info[0] = OUT_OF_RANGE, info[1] = outside;
        return 0;
    }
    if (n == 0)
        return 0;
    UNINTERRUPTED(number, graphsys_callbacks.analyze(n, nz, irn, icn));
    if (number > 0)
        return number;
    info[0] = FAILED;
    return 0;
}

static int limited(int64_t length)
{
    return length < INT_MAX ? (int)length : INT_MAX;
}

/* Lengths of a and iw. Before a first matrix has chosen an order they are a guess, of which Ipopt
 * takes five times as much. */
static void recommend(int number, int n, int nz, int *la, int *liw)
{
    struct pattern *pattern = enter(number);
    const int64_t *tables = pattern ? atomic_load(&pattern->tables) : 0;
    int64_t doubles = 64 + (int64_t)nz + 2 * (int64_t)n, ints = doubles + STATE_INTS;
    if (tables) {
        struct state state;
        int64_t frame[FRAME];
        read_lengths(pattern, &state);
        lay_out(tables, &state, 0, nz, 0, frame, &doubles, &ints);
    }
    if (pattern)
        leave(pattern);
    *la = limited(doubles + 8), *liw = limited(ints + 16); /* wherever they begin */
}

/* By the kernel: the number of negative eigenvalues, DOUBTFUL, or UNKNOWN where it cannot. The
 * values are those of a, or scaled. An array that is too short becomes half as long again as it
 * must be. */
static int64_t by_kernel(struct pattern *pattern, double *values, const double *scale, double *a,
                         int nz, int la, int *iw, int liw, int *info)
{
    const int64_t *tables = atomic_load(&pattern->tables);
    struct state *state = state_of(iw);
    int64_t frame[FRAME], doubles, ints, found;
    double bounds[8];
    const double *given = (const double *)(uintptr_t)tables[2 * BOUNDS];
    for (;;) {
        read_lengths(pattern, state);
        lay_out(tables, state, a, nz, iw, frame, &doubles, &ints);
        if (doubles > INT_MAX || ints > INT_MAX)
            return UNKNOWN;
        if (doubles > la || ints > liw) {
            info[0] = ints > liw ? IW_TOO_SHORT : A_TOO_SHORT;
            info[1] = (int)(ints > liw ? ints : doubles);
            return UNKNOWN;
        }
        memcpy(bounds, given, tables[2 * BOUNDS + 1] * sizeof *bounds);
        frame[2 * BOUNDS] = (int64_t)(uintptr_t)bounds;
        double *kept = (double *)(uintptr_t)frame[2 * SCALE];
        if (scale)
            memcpy(kept, scale, pattern->n * sizeof *scale);
        else
            kept[0] = 0.0;
        found = graphsys_callbacks.factorize_framed(frame, FRAME, values, nz);
        if (found >= DOUBTFUL)
            return found;
        const double *needed = (const double *)(uintptr_t)frame[2 * INFO] + NEEDED;
        atomic_store(&pattern->length[FRONT_FULL - found], (int64_t)(1.5 * *needed));
    }
}

/* What ikeep has: whose factors these are; matrices left that are equilibrated at once, since those
 * before had to be, and how many the last time; whether there is a scaling; its powers of two. */
enum { HANDLE, PATTERN, PAUSE, SCALED = 1 << 16, EXPONENTS = 3 };
/* Matrices that are equilibrated at once after a second doubtful one: 1, 3, 7 ... up to so many. */
enum { LONGEST_PAUSE = 63 };

/* Powers of two that equilibrate a matrix; 0 where there are none. */
static int equilibrate(const struct pattern *pattern, double *a, int nz, double *scale)
{
    int64_t frame[EQUILIBRATION];
    memcpy(frame, pattern->equilibration, sizeof frame);
    int64_t whole = frame[2 * WHOLE + 1], real = frame[2 * REAL + 1];
    double *work = malloc((whole + real) * sizeof *work);
    frame[2 * WHOLE] = (int64_t)(uintptr_t)work;
    frame[2 * REAL] = (int64_t)(uintptr_t)(work + whole);
    frame[2 * SCALING] = (int64_t)(uintptr_t)scale;
    int done = work && graphsys_callbacks.equilibrate_framed(frame, EQUILIBRATION, a, nz) == 0;
    free(work);
    return done;
}

/* As by_kernel, equilibrated: first with the scaling of an earlier matrix, if there was one. */
static int64_t by_scaled_kernel(struct pattern *pattern, int *ikeep, double *a, int nz, int la,
                                int *iw, int liw, int *info)
{
    int n = pattern->n, anew = !(ikeep[PAUSE] & SCALED);
    int64_t found = DOUBTFUL;
    if (n + EXPONENTS > 3 * n) /* longer than ikeep */
        return DOUBTFUL;
    double *scale = malloc((n + (size_t)nz) * sizeof *scale), *scaled = scale ? scale + n : 0;
    for (; scale && anew < 2 && found == DOUBTFUL; anew++) {
        if (anew && !equilibrate(pattern, a, nz, scale))
            break;
        for (int i = 0; i < n; i++)
            if (anew)
                ikeep[EXPONENTS + i] = ilogb(scale[i]);
            else
                scale[i] = ldexp(1.0, ikeep[EXPONENTS + i]);
        ikeep[PAUSE] |= SCALED;
        int lost = 0; /* entries by another matrix's powers of two */
        for (int k = 0; k < nz; k++) {
            scaled[k] = a[k] * (scale[pattern->irn[k] - 1] * scale[pattern->icn[k] - 1]);
            lost |= a[k] != 0.0 && fabs(scaled[k]) < DBL_MIN;
        }
        if (lost && !anew)
            continue;
        found = by_kernel(pattern, scaled, scale, a, nz, la, iw, liw, info);
    }
    free(scale);
    return found;
}

/* As by_kernel: the matrix as it is or, where that is doubtful, equilibrated. */
static int64_t by_kernels(struct pattern *pattern, int *ikeep, double *a, int nz, int la, int *iw,
                          int liw, int *info)
{
    int pause = ikeep[PAUSE] & 255, last = ikeep[PAUSE] >> 8 & 255, scaled = ikeep[PAUSE] & SCALED;
    if (pause == 0) {
        int64_t found = by_kernel(pattern, a, 0, a, nz, la, iw, liw, info);
        if (found == UNKNOWN)
            return found;
        ikeep[PAUSE] = scaled;
        if (found != DOUBTFUL)
            return found;
        pause = last, last = last < LONGEST_PAUSE ? 2 * last + 1 : last;
    } else
        pause--;
    ikeep[PAUSE] = scaled | last << 8 | pause;
    return by_scaled_kernel(pattern, ikeep, a, nz, la, iw, liw, info);
}

static int factorize(int *ikeep, int n, int nz, double *a, int la, int *iw, int liw, double pivtol,
                     int *info)
{
    struct state *state = state_of(iw);
    state->handle = ikeep[HANDLE], state->pattern = ikeep[PATTERN], state->by_kernel = 0;
    int64_t found = UNKNOWN;
    int by_python, use_kernel = pivtol <= graphsys_callbacks.weak_up_to;
    struct pattern *pattern = use_kernel ? enter(ikeep[PATTERN]) : 0;
    if (pattern) {
        if (pattern->n == n && pattern->nz == nz && atomic_load(&pattern->tables))
            found = by_kernels(pattern, ikeep, a, nz, la, iw, liw, info);
        leave(pattern);
    }
    if (found >= 0) {
        state->by_kernel = 1;
        return (int)found;
    }
    if (info[0] != 0)
        return FAILED;
    UNINTERRUPTED(by_python, graphsys_callbacks.factorize(ikeep[HANDLE], ikeep[PATTERN], nz, a,
                                                          pivtol, found == DOUBTFUL));
    return by_python > 0 ? by_python - 1 : by_python == INTERRUPTED ? FAILED : by_python;
}

/* No number is a solution. */
static void fail(int n, double *rhs)
{
    for (int i = 0; i < n; i++)
        rhs[i] = NAN;
}

static void solve(int n, const double *a, const int *iw, double *rhs)
{
    const struct state *state = state_of(iw);
    struct pattern *pattern = state->by_kernel ? enter((int)state->pattern) : 0;
    if (pattern) {
        int64_t frame[FRAME], doubles, ints;
        int rows = pattern->n;
        if (rows == n) {
            lay_out(atomic_load(&pattern->tables), state, (double *)a, pattern->nz, iw, frame,
                    &doubles, &ints);
            graphsys_callbacks.solve_framed(frame, FRAME, rhs, n);
        }
        leave(pattern);
        if (rows == n)
            return;
        fprintf(stderr, "graphsys: ma27cd has n = %d, ma27ad %d\n", n, rows);
        fail(n, rhs);
        return;
    }
    int done, handle = state->by_kernel ? 0 : (int)state->handle; /* 0: others have displaced it */
    UNINTERRUPTED(done, graphsys_callbacks.solve(handle, n, rhs));
    if (done == INTERRUPTED)
        fail(n, rhs);
}

/* A number that no other factorization has, before all numbers were given. */
static int new_handle(void)
{
    static atomic_uint count;
    return (int)(atomic_fetch_add(&count, 1) % INT_MAX) + 1;
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
    if (!ready()) {
        info[0] = NOT_READY;
        return;
    }
    int number = analyze(*n, *nz, irn, icn, info);
    if (*n > 0)
        ikeep[HANDLE] = new_handle(), ikeep[PATTERN] = number, ikeep[PAUSE] = 0;
    recommend(number, *n, *nz, &info[4], &info[5]);
}

PUBLIC void ma27bd_(const int *n, const int *nz, const int *irn, const int *icn, double *a,
                    const int *la, int *iw, const int *liw, int *ikeep, const int *nsteps,
                    int *maxfrt, int *iw1, const int *icntl, const double *cntl, int *info)
{
    (void)nsteps, (void)iw1, (void)icntl;
    clear(info);
    *maxfrt = 1;
    if (*liw < STATE_INTS)
        info[0] = IW_TOO_SHORT, info[1] = STATE_INTS;
    else if (*la < *nz)
        info[0] = A_TOO_SHORT, info[1] = *nz;
    else if (!ready())
        info[0] = NOT_READY;
    if (info[0] != 0 || *n == 0)
        return;
    int found = factorize(ikeep, *n, *nz, a, *la, iw, *liw, cntl[0], info);
    if (found == UNKNOWN) { /* others have displaced it */
        ikeep[PATTERN] = analyze(*n, *nz, irn, icn, info);
        if (info[0] == 0)
            found = factorize(ikeep, *n, *nz, a, *la, iw, *liw, cntl[0], info);
    }
    if (info[0] != 0)
        return;
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
    (void)la, (void)liw, (void)w, (void)maxfrt, (void)iw1, (void)nsteps, (void)icntl;
    (void)cntl;
    if (*n > 0 && ready())
        solve(*n, a, iw, rhs);
    raise_again();
}
