/* Symbols of MA27's documented interface; Python functions do the work.
 *
 * Ipopt loads this library by its option hsllib and calls the four functions. graphsys.interop.ipopt
 * has loaded the same file before and has set graphsys_callback. No HSL code is used.
 */
#include <stdio.h>

#ifdef _WIN32
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

enum { NOT_READY = -100 }; /* of INFO(1): an error that MA27 does not have */

/* Set by Python: analysis, factorization, solution. */
struct callbacks {
    void (*analyze)(int n, int nz, const int *irn, const int *icn, int *ikeep, int *info);
    void (*factorize)(int n, int nz, const int *irn, const int *icn, const double *a, int *iw,
                      int *ikeep, const double *cntl, int *info);
    void (*solve)(int n, const int *iw, double *rhs);
};
PUBLIC struct callbacks graphsys_callback;

static int greeted;

static int ready(void)
{
    if (!graphsys_callback.analyze) {
        fputs("graphsys: this library works only in the Python process that called "
              "graphsys.ipopt.library()\n", stderr);
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
        graphsys_callback.analyze(*n, *nz, irn, icn, ikeep, info);
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
    else if (ready())
        graphsys_callback.factorize(*n, *nz, irn, icn, a, iw, ikeep, cntl, info);
    else
        info[0] = NOT_READY;
}

PUBLIC void ma27cd_(const int *n, const double *a, const int *la, const int *iw, const int *liw,
                    double *w, const int *maxfrt, double *rhs, int *iw1, const int *nsteps,
                    const int *icntl, const double *cntl)
{
    (void)a, (void)la, (void)liw, (void)w, (void)maxfrt, (void)iw1, (void)nsteps, (void)icntl;
    (void)cntl;
    if (ready())
        graphsys_callback.solve(*n, iw, rhs);
}
