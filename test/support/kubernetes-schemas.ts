/**
 * The schemas of Kubernetes objects. They are npm packages generated from Kubernetes' own description. Unknown fields
 * are rejected.
 */
import assert from "node:assert/strict";
import { Namespace } from "kubernetes-models/v1/Namespace";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Service } from "kubernetes-models/v1/Service";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor";
import type { KubernetesObject } from "./deploy-files.ts";

// Each constructor has its own data type. The schema checks the data.
type Model = { readonly prototype: { readonly validate: () => void } };

const models: Readonly<Record<string, Model>> = {
  "v1/Namespace": Namespace,
  "v1/ConfigMap": ConfigMap,
  "v1/Service": Service,
  "apps/v1/Deployment": Deployment,
  "networking.k8s.io/v1/NetworkPolicy": NetworkPolicy,
  "policy/v1/PodDisruptionBudget": PodDisruptionBudget,
  "monitoring.coreos.com/v1/ServiceMonitor": ServiceMonitor,
};

/** Fails for an object that Kubernetes would reject, and for fields that are not in the schema. */
export function checkObject(object: KubernetesObject): void {
  const name = `${object.apiVersion}/${object.kind}`;
  const Made = models[name];
  assert.ok(Made, `no schema for ${name}`);
  const read = new Set<string>();
  // A constructor copies the fields, which counts as reading them. Therefore the method is called without a
  // constructor.
  Reflect.apply(Made.prototype.validate, watched(object, "", read), []);
  const unread = fieldsOf(object, "").filter((path) => !read.has(path));
  assert.deepEqual(unread, [], `${name} ${object.metadata.name} has fields that its schema does not know`);
}

/** The schemas are compiled to functions that allow unknown fields. Such a function never reads an unknown field. */
function watched(value: unknown, path: string, read: Set<string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.entries(value).map(([key, inner]) => [key, watched(inner, `${path}/${key}`, read)] as const);
  const target: object = Array.isArray(value) ? copy.map(([, inner]) => inner) : Object.fromEntries(copy);
  return new Proxy(target, {
    get(object, key, receiver) {
      read.add(`${path}/${String(key)}`);
      return Reflect.get(object, key, receiver) as unknown;
    },
  });
}

function fieldsOf(value: unknown, path: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [`${path}/${key}`, ...fieldsOf(inner, `${path}/${key}`)]);
}
