"""A machine that looks for wrong claims.

``python -m tests.fuzz --minutes 60 --jobs 2 --seed 1 --out folder`` runs all parts (``--parts`` names some)
until the time is over, prints what it finds and how many cases each part had, and writes every finding to the
folder: as JSON with its seed, and shrunk, as a test. ``--case part:index --seed S`` repeats one case.

- ``instances``: random tiny problems, a quarter of them with extreme scales, with one total or several;
- ``oracle``: brute force over all labelings that could lie below a claim;
- ``exact``: a claim counts as refuted only by a point that is feasible and cheaper in rational arithmetic;
- ``referee``: what every answer must satisfy, and whether a point lies below its bound;
- ``shrink``: fewer rows, columns, digits;
- ``parts``, ``files``, ``certificates``: what is fuzzed; ``runner``: workers and a watchdog;
- ``findings``, ``test_findings``: what was found and still stands; ``test_slice``: the fixed slice of CI.
"""
