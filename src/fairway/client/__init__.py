"""The only way to the API server: typed calls, informers, work queues, elections, Events.

Components import from here, not from the modules inside. Nothing in this package knows any kind.
"""

from fairway.client.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    ClientError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeConfigError,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from fairway.client.events import EventRecorder, reference
from fairway.client.informer import Informer
from fairway.client.kubeconfig import KubeConfig
from fairway.client.leader import LeaderElector
from fairway.client.rest import Client, Listing
from fairway.client.workqueue import WorkQueue, run_workers

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Client",
    "ClientError",
    "Conflict",
    "EventRecorder",
    "Expired",
    "Forbidden",
    "Informer",
    "Invalid",
    "KubeConfig",
    "KubeConfigError",
    "LeaderElector",
    "Listing",
    "NotFound",
    "TooManyRequests",
    "Unauthorized",
    "Unavailable",
    "WorkQueue",
    "reference",
    "run_workers",
]
