"""The spec of a Pod, the same in a Pod and in every template of one: defaults, validation, warnings.

What holds for Pods only (updates, status, grace) is in `kinds/pod`; what a workload adds to its template in
`kinds/workloads`.
"""
