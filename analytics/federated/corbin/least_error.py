"""What no scheme can beat that has the privacy of CorBin-FL towards the observer of the sum."""

from __future__ import annotations

import math
from dataclasses import replace

from airtight.analytics.federated.corbin import mean_estimation
from airtight.analytics.federated.corbin.aggregation import aggregation
from airtight.analytics.federated.corbin.federated_system import FederatedSystem
from airtight.analytics.limits.minimax import Limit, minimax_error


def least_error(system: FederatedSystem) -> Limit:
    r"""Bound from below the worst error of one parameter of the mean update, for every mechanism with the privacy of CorBin-FL.

    Parameters
    ----------
    system : FederatedSystem
        Each client holds a number within the radius; the guarantee is that of a client towards the observer of the sum, one
        parameter and one round (:func:`.corbin.aggregation.aggregation`), and nobody drops out.

    Returns
    -------
    Limit
        `ratio` compares with the worst error of the system's own quantizers.

    Notes
    -----
    The curve of a client holds for a replaced update, whatever the other updates are: that is the guarantee of the theorems.

    Examples
    --------
    >>> limit = least_error(FederatedSystem(clients=10, parameters=1, epsilon=1.0, ldp_fraction=1.0))
    >>> round(limit.error, 4), limit.how, round(limit.ratio, 1)
    (0.1825, 'chains on 1 line, 2 steps of 5 devices (theorem 2)', 2.6)
    """
    one_round = system.derived(parameters=1, dropout=0.0, rounds=1)
    clients, radius = one_round.clients, one_round.radius
    limit = minimax_error(aggregation(one_round), devices=clients, dimension=1, clip=radius, adjacency="replace")
    error = mean_estimation.worst(
        clients, epsilon=one_round.epsilon, radius=radius, bits=one_round.shared_bits, independent=one_round.ldp_fraction
    )
    return replace(limit, ratio=float(error) / limit.error if limit.error > 0 else math.inf)
