"""Tables and models, or matrices with more threads than cores: what a data scientist runs.

With a second argument it begins when its input ends.
"""

import multiprocessing
import os
import sys


def compute(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def tables():
    import numpy as np
    import pandas as pd

    rows = pd.DataFrame({"key": np.arange(2000) % 40, "value": np.arange(2000.0)})

    def score(row):
        return compute(1000) + row["value"]

    rows["score"] = rows.apply(score, axis=1)
    sums = rows.groupby("key")["score"].agg(["sum", "mean", "max"])
    merged = rows.merge(sums, left_on="key", right_index=True)
    print(merged.sort_values(["score", "key"]).tail(2).to_csv(index=False))
    print(rows.rolling(50, on="value")["score"].sum().iloc[-1])


def models():
    import joblib
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    x, y = make_classification(400, 12, random_state=3)

    def prepare(x):
        compute(300000)
        return x * 2

    forest = RandomForestClassifier(20, n_jobs=3, random_state=3)
    pipeline = make_pipeline(FunctionTransformer(prepare), forest).fit(x, y)
    print("forest", round(pipeline.score(x, y), 4))
    # Processes that joblib starts by itself.
    jobs = (joblib.delayed(compute)(50000 + i) for i in range(4))
    print("jobs", joblib.Parallel(n_jobs=2)(jobs))


def multiply(size, times):
    import numpy as np

    matrix = np.arange(size * size, dtype=float).reshape(size, size)
    for _ in range(times):
        matrix = matrix @ matrix % 7
    return matrix.sum()


def child(queue):
    queue.put(float(multiply(200, 2)))


def matrices():
    import numpy as np
    import threadpoolctl

    # OPENBLAS_NUM_THREADS is cut down to the number of cores.
    np.linalg.inv(np.eye(3))
    threadpoolctl.threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]))
    print("product", multiply(500, 4))
    # OpenBLAS ends its threads before a fork and starts others after it.
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    job = context.Process(target=child, args=(queue,))
    job.start()
    print("child", queue.get())
    job.join()
    print("again", multiply(500, 1), job.exitcode)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        import numpy as np

        np.ones((200, 200)) @ np.ones((200, 200))
        print("begins", flush=True)
        sys.stdin.read()
    if sys.argv[1] == "tables":
        tables()
        models()
    else:
        matrices()
