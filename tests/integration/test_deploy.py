"""What `deploy/` holds, judged by the tools that it is for."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from neardup_daemon.settings.settings import Settings

from monitoring.prometheus_rule import ALERTS, PROMETHEUS_RULE, to_prometheus_rule
from neardup_stream import __version__
from tests.servers.process import find_program
from tests.servers.prometheus import promtool

DEPLOY = Path(__file__).parents[2] / "deploy"
OVERLAYS = sorted((DEPLOY / "kubernetes" / "overlays").iterdir())
KUBERNETES_VERSION = "1.32"
MOST_EXPOSURE = 3.0
HOUR_SECONDS = 3600
STOP_SECONDS = Settings().pipeline.drain_seconds + Settings().kafka.request_timeout_seconds


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rendered(overlay: Path) -> Sequence[Mapping[str, Any]]:
    kubectl = find_program("kubectl", package="kubectl, 1.22 or newer, from Kubernetes' own packages")
    return list(yaml.safe_load_all(run(kubectl, "kustomize", str(overlay))))


def rendered_with(components: str, directory: Path) -> Sequence[Mapping[str, Any]]:
    """Render the production overlay with one more line, copied into a directory."""
    overlay = Path(shutil.copytree(DEPLOY / "kubernetes", directory / "kubernetes")) / "overlays/production"
    with (overlay / "kustomization.yaml").open("a") as file:
        file.write(components)
    return rendered(overlay)


@pytest.fixture
def with_components(tmp_path: Path) -> Sequence[Mapping[str, Any]]:
    """The production overlay with the components that its comment names."""
    overlay = DEPLOY / "kubernetes" / "overlays" / "production"
    (line,) = re.findall("components: .*", (overlay / "kustomization.yaml").read_text())
    return rendered_with(line, tmp_path)


def discovered(deployment: Mapping[str, Any]) -> Mapping[str, str]:
    """Labels of a pod as Prometheus discovers it."""
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    (port,) = container["ports"]
    return {
        "__meta_kubernetes_namespace": deployment["metadata"]["namespace"],
        "__meta_kubernetes_pod_name": "neardup-0",
        "__meta_kubernetes_pod_phase": "Running",
        "__meta_kubernetes_pod_container_port_name": port["name"],
        **{
            "__meta_kubernetes_pod_label_" + re.sub(r"\W", "_", name): value
            for name, value in pod["metadata"]["labels"].items()
        },
    }


def of_kind(objects: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


def names_in_the_network(objects: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """Return the names of pods that the NetworkPolicy is for."""
    (rule,) = of_kind(objects, "NetworkPolicy")["spec"]["podSelector"]["matchExpressions"]
    assert (rule["key"], rule["operator"]) == ("app.kubernetes.io/name", "In")
    names: Sequence[str] = rule["values"]
    return names


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_every_object_is_valid_by_the_schemas_of_kubernetes(overlay: Path) -> None:
    objects = rendered(overlay)

    for each in objects:
        kubernetes_validate.validate(each, KUBERNETES_VERSION, strict=True)
    assert len(objects) == 7


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_a_pod_has_no_rights_probes_that_exist_and_time_to_drain(overlay: Path) -> None:
    pod = of_kind(rendered(overlay), "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert pod["automountServiceAccountToken"] is False
    assert pod["terminationGracePeriodSeconds"] > STOP_SECONDS
    probes = {name: container[name]["httpGet"]["path"] for name in container if name.endswith("Probe")}
    assert probes == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    assert container["ports"] == [{"name": "http", "containerPort": Settings().http.port}]


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_everything_selects_the_pods_that_there_are(overlay: Path) -> None:
    objects = rendered(overlay)
    deployment = of_kind(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()

    selectors = [
        deployment["spec"]["selector"]["matchLabels"],
        of_kind(objects, "Service")["spec"]["selector"],
        of_kind(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
    ]
    assert all(selector.items() <= labels for selector in selectors)
    assert dict(labels)["app.kubernetes.io/name"] in names_in_the_network(objects)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_a_command_has_what_the_daemons_have_and_room_for_its_files(overlay: Path) -> None:
    objects = rendered(overlay)
    daemon = of_kind(objects, "Deployment")["spec"]["template"]["spec"]
    template = of_kind(objects, "CronJob")["spec"]["jobTemplate"]["spec"]["template"]
    (ours,), (theirs,) = template["spec"]["containers"], daemon["containers"]

    same = ("image", "securityContext", "volumeMounts")
    assert [ours[name] for name in same] == [theirs[name] for name in same]
    rights = ("securityContext", "serviceAccountName", "automountServiceAccountToken", "enableServiceLinks")
    assert [template["spec"][name] for name in rights] == [daemon[name] for name in rights]
    volumes, others = (
        {volume["name"]: volume for volume in each["volumes"]} for each in (template["spec"], daemon)
    )
    assert volumes["settings"] == others["settings"]
    assert volumes["secrets"] == others["secrets"]
    assert volumes["tmp"]["emptyDir"] == {}


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_a_command_uses_the_network_of_the_daemons_and_counts_as_none(overlay: Path) -> None:
    objects = rendered(overlay)
    command = of_kind(objects, "CronJob")["spec"]
    labels = command["jobTemplate"]["spec"]["template"]["metadata"]["labels"].items()

    assert command["suspend"]
    assert dict(labels)["app.kubernetes.io/name"] in names_in_the_network(objects)
    assert not of_kind(objects, "Deployment")["spec"]["selector"]["matchLabels"].items() <= labels
    assert not of_kind(objects, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_pods_wait_through_an_outage_of_an_hour(overlay: Path) -> None:
    assert Settings.load(overlay / "neardup.toml").pipeline.retry_deadline_seconds >= HOUR_SECONDS


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_the_settings_of_a_config_map_load_and_its_secrets_are_mounted_files(
    overlay: Path, tmp_path: Path
) -> None:
    objects = rendered(overlay)
    config = tmp_path / "neardup.toml"
    config.write_text(of_kind(objects, "ConfigMap")["data"]["neardup.toml"])
    (container,) = of_kind(objects, "Deployment")["spec"]["template"]["spec"]["containers"]

    settings = Settings.load(config)

    files = [settings.kafka.sasl_password_file, settings.redis.password_file, settings.kafka.tls_ca_file]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    assert all(str(Path(file).parent) in mounts for file in files if file)


@pytest.mark.parametrize("overlay", OVERLAYS, ids=lambda path: path.name)
def test_pods_that_wait_for_redis_or_kafka_do_not_keep_a_node_from_being_drained(overlay: Path) -> None:
    budget = of_kind(rendered(overlay), "PodDisruptionBudget")["spec"]

    assert budget["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_production_needs_nothing_that_a_plain_cluster_lacks_and_says_where_its_image_is() -> None:
    objects = rendered(DEPLOY / "kubernetes" / "overlays" / "production")
    deployment = of_kind(objects, "Deployment")["spec"]
    (container,) = deployment["template"]["spec"]["containers"]

    groups = {each["apiVersion"].rpartition("/")[0] for each in objects}
    assert groups == {"", "apps", "batch", "networking.k8s.io", "policy"}
    assert deployment["replicas"] == 2
    assert container["image"] == f"registry.example.com/neardup-stream:{__version__}"


def test_the_query_api_is_behind_a_service_and_asks_for_a_token(tmp_path: Path) -> None:
    objects = rendered_with("components: [../../components/query-api]", tmp_path)
    pod = of_kind(objects, "Deployment")["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    ports = {each["name"]: each["containerPort"] for each in container["ports"]}

    api = Settings.load(environ={each["name"]: each["value"] for each in container["env"]}).api

    for one in objects:
        kubernetes_validate.validate(one, KUBERNETES_VERSION, strict=True)
    added = [each for each in objects if each["metadata"]["name"] == "neardup-stream-api"]
    service, policy = of_kind(added, "Service")["spec"], of_kind(added, "NetworkPolicy")["spec"]
    assert api.enabled
    assert str(Path(api.token_file).parent) in [mount["mountPath"] for mount in container["volumeMounts"]]
    assert ports == {"http": Settings().http.port, "api": api.port}
    assert [(each["port"], each["targetPort"]) for each in service["ports"]] == [(api.port, "api")]
    assert [each["port"] for rule in policy["ingress"] for each in rule["ports"]] == [api.port]
    for selector in (service["selector"], policy["podSelector"]["matchLabels"]):
        assert selector.items() <= pod["metadata"]["labels"].items()


def test_keda_scales_the_deployment_by_a_metric_that_exists(
    with_components: Sequence[Mapping[str, Any]],
) -> None:
    scaled = of_kind(with_components, "ScaledObject")["spec"]

    assert scaled["scaleTargetRef"]["name"] == of_kind(with_components, "Deployment")["metadata"]["name"]
    assert [trigger["metadata"]["query"] for trigger in scaled["triggers"]] == [
        'sum(neardup_uncommitted_records{job="neardup-crawl"})'
    ]
    assert "replicas" not in of_kind(with_components, "Deployment")["spec"]


def test_prometheus_gives_the_pods_of_a_namespace_the_job_by_which_keda_asks(
    with_components: Sequence[Mapping[str, Any]], tmp_path: Path
) -> None:
    """Debian builds Prometheus without Kubernetes: what it says of pods is written into the configuration."""
    objects = with_components
    (trigger,) = of_kind(objects, "ScaledObject")["spec"]["triggers"]
    ours, other = discovered(of_kind(objects, "Deployment")), {"__meta_kubernetes_namespace": "crawl"}
    config = yaml.safe_load((DEPLOY / "prometheus" / "kubernetes.yml").read_text())
    (scraped,) = config["scrape_configs"]
    del scraped["kubernetes_sd_configs"], config["rule_files"]
    scraped["static_configs"] = [{"targets": ["10.0.0.7:9464"], "labels": each} for each in (ours, other)]
    file = tmp_path / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))

    checked = promtool("check", "service-discovery", "--timeout=3s", str(file), scraped["job_name"])

    targets = [each["labels"] for each in json.loads(checked.stdout) if each.get("labels")]
    assert [(each["job"], each["instance"]) for each in targets] == [("neardup-crawl", "neardup-0")]
    assert f'{{job="{targets[0]["job"]}"}}' in trigger["metadata"]["query"]


def test_a_service_monitor_gives_the_same_job_as_the_scrape_configuration(
    with_components: Sequence[Mapping[str, Any]],
) -> None:
    objects = with_components
    monitor, service = of_kind(objects, "ServiceMonitor")["spec"], of_kind(objects, "Service")
    (scraped,) = yaml.safe_load((DEPLOY / "prometheus" / "kubernetes.yml").read_text())["scrape_configs"]

    (endpoint,) = monitor["endpoints"]
    (naming,) = endpoint["relabelings"]
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]
    assert {
        "source_labels": naming["sourceLabels"],
        "target_label": naming["targetLabel"],
        "replacement": naming["replacement"],
    } in scraped["relabel_configs"]


def test_the_prometheus_operator_loads_the_alerts_that_prometheus_loads(
    with_components: Sequence[Mapping[str, Any]],
) -> None:
    assert PROMETHEUS_RULE.read_text() == to_prometheus_rule(ALERTS.read_text()), "run `make dashboards`"
    assert of_kind(with_components, "PrometheusRule")["spec"] == yaml.safe_load(ALERTS.read_text())


def test_the_unit_is_valid_and_hardly_exposed() -> None:
    unit = DEPLOY / "neardup-stream.service"
    analyze = find_program("systemd-analyze", package="systemd")

    checked = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    exposure = run(analyze, "security", "--offline=true", str(unit))

    complaints = [line for line in checked.stderr.splitlines() if "is not executable" not in line]
    assert complaints == []  # but that the program is not installed here
    assert float(re.findall(r"Overall exposure level for .*: ([\d.]+)", exposure)[0]) <= MOST_EXPOSURE


@pytest.mark.parametrize("file", ["prometheus/prometheus.yml", "compose/prometheus.yml"])
def test_prometheus_takes_its_configuration(file: str) -> None:
    checked = promtool("check", "config", "--syntax-only", str(DEPLOY / file))
    assert checked.returncode == 0, checked.stderr


def test_compose_mounts_files_that_there_are_and_settings_that_load() -> None:
    directory = DEPLOY / "compose"
    services = yaml.safe_load((directory / "compose.yaml").read_text())["services"]

    sources = [
        volume.partition(":")[0] for service in services.values() for volume in service.get("volumes", ())
    ]
    assert all((directory / source).exists() for source in sources if source.startswith("."))
    settings = Settings.load(directory / "neardup.toml")
    assert settings.kafka.bootstrap_servers.partition(":")[0] in services
    assert settings.redis.url.partition("//")[2].partition(":")[0] in services
    assert all(set(service.get("depends_on", ())) <= services.keys() for service in services.values())


def test_only_daemons_have_a_health_check_and_it_asks_their_port() -> None:
    compose = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
    settings = Settings.load(DEPLOY / "compose" / "neardup.toml")
    ours = {name: each for name, each in compose["services"].items() if "build" in each}
    checks = {name: each["healthcheck"]["test"] for name, each in ours.items() if "healthcheck" in each}

    assert list(checks) == ["neardup-stream"]
    assert f"http://127.0.0.1:{settings.http.port}/livez" in checks["neardup-stream"][-1]
    assert not re.search("^HEALTHCHECK", (DEPLOY.parent / "Dockerfile").read_text(), re.MULTILINE)


def test_the_images_user_port_and_command_are_those_of_the_pods() -> None:
    dockerfile = (DEPLOY.parent / "Dockerfile").read_text()
    pod = yaml.safe_load((DEPLOY / "kubernetes/base/deployment.yaml").read_text())["spec"]["template"]["spec"]
    context = pod["securityContext"]

    assert f"USER {context['runAsUser']}:{context['runAsGroup']}" in dockerfile
    assert f"EXPOSE {Settings().http.port}" in dockerfile
    assert str(pod["containers"][0]["args"]).replace("'", '"') in dockerfile
