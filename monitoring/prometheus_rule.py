"""The alerts for the Prometheus Operator: `python -m monitoring.prometheus_rule` writes the manifest."""

from pathlib import Path
from textwrap import indent
from typing import Final

__all__ = ["ALERTS", "PROMETHEUS_RULE", "to_prometheus_rule"]

_DEPLOY: Final = Path(__file__).parents[1] / "deploy"
ALERTS: Final = _DEPLOY / "prometheus" / "alerts.yml"
PROMETHEUS_RULE: Final = _DEPLOY / "kubernetes/components/prometheus-operator/prometheusrule.yaml"

_HEAD: Final = """\
# Written by `make dashboards` from deploy/prometheus/alerts.yml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: neardup-stream
  labels: {app.kubernetes.io/name: neardup-stream}
spec:
"""


def to_prometheus_rule(alerts: str) -> str:
    """Return a PrometheusRule with the rules of a rule file."""
    return _HEAD + indent(alerts, "  ")


def main() -> None:
    """Write it."""
    PROMETHEUS_RULE.write_text(to_prometheus_rule(ALERTS.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
