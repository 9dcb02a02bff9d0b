import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { version } from "../../scripts/release/paths.ts";
import { root } from "../support/command.ts";
import { checkSettings, deployText, deployYaml, objectsIn, renderTemplate } from "../support/deploy-files.ts";
import type { KubernetesObject } from "../support/deploy-files.ts";
import { checkObject } from "../support/kubernetes-schemas.ts";

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newTag: string }[];
}

const kustomization = deployYaml("kubernetes/kustomization.yaml") as Kustomization;
const base = kustomization.resources.flatMap((file) => objectsIn(deployText(`kubernetes/${file}`)));
const find = (kind: string, name = "postern"): KubernetesObject => {
  const found = base.find((object) => object.kind === kind && object.metadata.name === name);
  assert.ok(found, `there is no ${kind} ${name}`);
  return found;
};
const pod = find("Deployment")["spec"].template.spec;
const [container] = pod.containers;
const settings = find("ConfigMap")["data"];

describe("the Kubernetes manifests", () => {
  it("the Kubernetes manifests list every file of the folder and match the schemas without unknown fields", () => {
    const files = readdirSync(join(root, "deploy/kubernetes")).filter((file) => file !== "kustomization.yaml");
    assert.deepEqual([...kustomization.resources].sort(), files.sort());
    for (const object of base) checkObject(object);
  });

  it("manifests with a misspelled field or a wrong type are rejected", () => {
    const deployment = find("Deployment");
    const wrong = (spec: object): KubernetesObject => ({ ...deployment, spec: { ...deployment["spec"], ...spec } });
    assert.throws(() => checkObject(wrong({ replica: 3 })), /\/spec\/replica\b/);
    assert.throws(() => checkObject(wrong({ replicas: "three" })));
  });

  it("the Kubernetes manifests use settings that exist, and no secret value", () => {
    const { POSTERN_DATA: data, ...rest } = settings as Record<string, string>;
    assert.equal(data, container.volumeMounts.find(({ name }: { name: string }) => name === "data").mountPath);
    checkSettings({ ...rest, POSTERN_PEER_ADDRESS: "10.1.2.3" });
    assert.deepEqual(
      base.filter(({ kind }) => kind === "Secret"),
      [],
    );
  });

  it("the Kubernetes manifests name the released version", () => {
    assert.deepEqual(kustomization.images, [{ name: "postern", newTag: version }]);
    const chart = deployYaml("helm/postern/Chart.yaml") as Record<string, string>;
    assert.deepEqual([chart["version"], chart["appVersion"]], [version, version]);
  });

  it("X2: manifests run the server without rights: own user, read-only root, no capability", () => {
    assert.deepEqual([pod.securityContext.runAsNonRoot, pod.securityContext.runAsUser], [true, 65_532]);
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  });

  it("manifests have ports that the server listens on and that the Services name", () => {
    const listens: Record<string, string> = {
      https: settings.POSTERN_HTTPS_LISTEN,
      http: settings.POSTERN_HTTP_LISTEN,
      agents: settings.POSTERN_AGENT_LISTEN,
      api: settings.POSTERN_API_LISTEN,
      peers: settings.POSTERN_PEER_LISTEN,
    };
    const ports = container.ports as readonly { readonly name: string; readonly containerPort: number }[];
    assert.deepEqual(Object.fromEntries(ports.map((port) => [port.name, `:${port.containerPort}`])), listens);
    const targets = base
      .filter(({ kind }) => kind === "Service")
      .flatMap((service) => service["spec"].ports as readonly { readonly targetPort: string }[])
      .map(({ targetPort }) => targetPort);
    assert.deepEqual(targets.sort(), Object.keys(listens).sort());
    // One peer port for each edge.
    const [, , peers] = find("NetworkPolicy")["spec"].ingress;
    const [{ port, endPort }] = peers.ports;
    assert.equal(`:${port}`, settings.POSTERN_PEER_LISTEN);
    assert.ok(endPort - port + 1 >= Number(settings.POSTERN_EDGES));
  });

  it("S5: manifests leave a server the time that it needs to stop", () => {
    const pause = container.lifecycle.preStop.sleep.seconds;
    const drain = Number(settings.POSTERN_DRAIN_DELAY);
    const probe = container.readinessProbe;
    assert.ok(pod.terminationGracePeriodSeconds >= pause + drain + 12);
    assert.ok(drain >= 2 * probe.periodSeconds * probe.failureThreshold);
    assert.equal(probe.httpGet.path, "/readyz");
    // A server that drains is still alive.
    assert.equal(container.livenessProbe.httpGet.path, "/healthz");
  });
});

describe("the Helm chart", () => {
  const chart = "helm/postern";
  const values = deployYaml(`${chart}/values.yaml`) as Record<string, object>;
  const templates = readdirSync(join(root, "deploy", chart, "templates"));
  const render = (name: string, changed: object = {}): readonly KubernetesObject[] =>
    templates.flatMap((file) =>
      objectsIn(
        renderTemplate(deployText(`${chart}/templates/${file}`), {
          Values: { ...values, ...changed },
          Release: { Name: name },
        }),
      ).filter((object) => object !== null),
    );
  const byName = (objects: readonly KubernetesObject[]): Map<string, KubernetesObject> =>
    new Map(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]));

  it("the Helm chart creates the objects of the plain manifests by default", () => {
    const expected = byName(base.filter(({ kind }) => kind !== "Namespace"));
    const deployment = find("Deployment");
    const image = `${container.image}:${version}`;
    const template = { ...deployment["spec"].template, spec: { ...pod, containers: [{ ...container, image }] } };
    expected.set("Deployment postern", { ...deployment, spec: { ...deployment["spec"], template } });
    assert.deepEqual(byName(render("postern")), expected);
  });

  it("the Helm chart creates valid objects with another name and other values", () => {
    const objects = render("edge", {
      networkPolicy: { enabled: false, monitoringNamespace: "x" },
      serviceMonitor: { enabled: false },
      services: { https: { type: "ClusterIP", keepClientAddress: false }, agents: { type: "NodePort" } },
    });
    for (const object of objects) checkObject(object);
    assert.deepEqual(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).sort(), [
      "ConfigMap edge",
      "Deployment edge",
      "PodDisruptionBudget edge",
      "Service edge-agents",
      "Service edge-api",
      "Service edge-https",
      "Service edge-peers",
    ]);
    assert.ok(!JSON.stringify(objects).includes("externalTrafficPolicy"));
  });
});
