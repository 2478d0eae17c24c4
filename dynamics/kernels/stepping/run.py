"""The time loop of a run: inputs of each step, the step, its record and the totals."""

from dynamics.kernels.base.callback import call_three
from dynamics.kernels.base.copying import copy
from dynamics.kernels.base.jit import kernel, pointer
from dynamics.kernels.base.lanes import where
from dynamics.kernels.base.layout import BODIES
from dynamics.kernels.base.run_totals import (
    END_TIME,
    FIRST_RECORD,
    FIRST_UNEXPLAINED,
    LESS_FRICTION_STEPS,
    MOST_INTERVALS_OF_STEP,
    MOST_ITERATIONS_OF_STEP,
    MOST_WORK,
    RELAXED_STEPS,
    RESUMED,
    STEPS,
    TOTAL_FACTORIZATIONS,
    TOTAL_INTERVALS,
    TOTAL_ITERATIONS,
)
from dynamics.kernels.base.step_info import (
    FACTORIZATIONS,
    FRICTION,
    INTERVALS,
    ITERATIONS,
    LARGEST_WORK,
    LENGTH,
    RELAXATION,
    SPACING,
    TIME,
    UNEXPLAINED_INTERVALS,
)
from dynamics.kernels.collisions.watch import expires, keep, taken_back


@kernel
def record_step(k, every, h, info, state, totals, record):
    """Totals of a run after its step k, and the state where it is an ``every``-th."""
    totals[END_TIME] += h
    totals[TOTAL_ITERATIONS] += info[ITERATIONS]
    totals[TOTAL_INTERVALS] += info[INTERVALS]
    totals[MOST_ITERATIONS_OF_STEP] = max(totals[MOST_ITERATIONS_OF_STEP], info[ITERATIONS])
    totals[MOST_INTERVALS_OF_STEP] = max(totals[MOST_INTERVALS_OF_STEP], info[INTERVALS])
    totals[TOTAL_FACTORIZATIONS] += info[FACTORIZATIONS]
    less = (info[FRICTION] > 0.0) & (info[FRICTION] < 1.0)
    totals[RELAXED_STEPS] += where(info[RELAXATION] > 1.0, 1.0, 0.0)
    totals[LESS_FRICTION_STEPS] += where(less, 1.0, 0.0)
    totals[STEPS] += 1.0
    totals[MOST_WORK] = max(totals[MOST_WORK], info[LARGEST_WORK])
    first = (info[UNEXPLAINED_INTERVALS] > 0.0) & (totals[FIRST_UNEXPLAINED] == 0.0)
    totals[FIRST_UNEXPLAINED] = where(first, totals[STEPS], totals[FIRST_UNEXPLAINED])
    if (k + 1) % every == 0:
        row = (k + 1) // every - 1 - int(totals[FIRST_RECORD])
        copy(state, record[row])
        if record.shape[1] > state.size:
            record[row, state.size], record[row, state.size + 1] = info[LENGTH], info[SPACING]


@kernel
def never(work):
    """Whether a run is to end early: its workspace holds nothing to be read."""
    return False


def make_simulate(step, keep=keep, taken_back=taken_back, full=never):
    """Kernel `simulate` of the module of a ``step``, which is linked into it.

    The module has to assign it to that name: machine code is found by module and name. ``keep`` and
    ``taken_back`` are those of the watch, for workspaces of another kind; ``full(work)`` says that
    these are to be read before the run goes on.
    """

    def simulate(
        # Tables:
        plan,
        constant,
        program,
        # In:
        h,
        settings,
        steps,
        every,
        inputs,
        watch,
        # In and out:
        state,
        # Work:
        work,
        solver,
        # Out:
        results,
    ):  # fmt: skip
        """Run ``steps`` more steps, record the state after every ``every``; steps done.

        ``inputs`` are a controller's address, controls and wrenches: row k is that of step k, the
        last row that of all later ones. ``controller(time, state, control)`` changes row 0 if its
        address is not 0. ``results`` are the record, the info and the totals. Steps count from
        ``totals[STEPS]``. If ``totals[RESUMED]`` is not 0, the run continues an earlier call, whose
        node and predictor the workspace and the info still hold: no bit depends on how a motion is
        divided. ``watch`` is None or that of `dynamics.kernels.collisions.watch`, and a run ends
        where the near pairs are to be found again.
        """
        controller, controls, wrenches = inputs
        record, info, totals = results
        time = pointer(totals, END_TIME)
        done = int(totals[STEPS])
        for k in range(done, done + steps):
            again = keep(watch, state, work, info)
            row = min(k, controls.shape[0] - 1)
            if controller != 0:
                row = 0
                if not again:
                    if call_three(controller, time, 0, state, 0, controls, 0) != 0:
                        return k - done
            info[TIME] = time[0]
            bad = step(
                plan, constant, program, h, settings, controls[row],
                wrenches[min(k, wrenches.shape[0] - 1)], state, work, solver, info,
                totals[RESUMED] != 0.0, watch,
            )  # fmt: skip
            if bad != 0 or taken_back(watch, plan[BODIES], h, state, work, info):
                return k - done
            totals[RESUMED] = 1.0
            record_step(k, every, h, info, state, totals, record)
            if expires(watch, plan[BODIES], h, state) or full(work):
                return k + 1 - done
        return steps

    simulate.__module__, simulate.__qualname__ = step.__module__, simulate.__name__
    return kernel(simulate)
