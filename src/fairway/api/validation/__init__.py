"""Validation as Kubernetes does it: pure functions from objects to lists of field errors.

`NAME_errors(value)` answers with what is wrong with a value; `validate_NAME(field, value)` with complaints
about the field that holds it.
"""
