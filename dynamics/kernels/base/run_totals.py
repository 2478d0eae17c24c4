"""Places in the totals of a run, which `simulate` adds up step by step."""

END_TIME = 0  # s
TOTAL_ITERATIONS = 1
TOTAL_INTERVALS = 2
MOST_ITERATIONS_OF_STEP = 3
MOST_INTERVALS_OF_STEP = 4
TOTAL_FACTORIZATIONS = 5
RELAXED_STEPS = 6  # steps that needed a relaxed barrier
LESS_FRICTION_STEPS = 7  # those of them with less friction
STEPS = 8  # steps solved
RESUMED = 9  # 1 if the workspace holds node and predictor of the next step, else 0
MOST_WORK = 10  # largest work of joints and contacts in an interval, J
FIRST_UNEXPLAINED = 11  # first step with more of it than the bound, from 1; 0 if there is none
FIRST_RECORD = 12  # records of the run that lie before those of this array
TOTALS_SIZE = 13
