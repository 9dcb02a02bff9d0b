/** Compiled policies, shared by all users of the same text on this thread, and compiled in slices beforehand. */
import { hash } from "node:crypto";
import type { Steps } from "../lib/slices.ts";
import { compilePolicy, policySteps } from "./compile.ts";
import type { PolicyCompilation } from "./compile.ts";
import type { CompiledPolicy } from "./compiled.ts";
import type { Layer } from "./language/action.ts";

/** A policy stays here while it is running or referenced. */
const present = new Map<string, WeakRef<CompiledPolicy>>();
const compilations = new WeakMap<CompiledPolicy, PolicyCompilation>();
const collected = new FinalizationRegistry<string>((key) => {
  if (present.get(key)?.deref() === undefined) present.delete(key);
});

/**
 * Same as `compilePolicy`, but shares the result between callers with the same text while one of them holds the policy.
 */
export function sharedPolicy(text: string, layer: Layer): PolicyCompilation {
  const key = keyOf(text, layer);
  return find(key) ?? keep(key, compilePolicy(text, layer));
}

/**
 * Compiles a policy so that `sharedPolicy` finds it; undefined if it already does. Hold the result until `sharedPolicy`
 * was called.
 */
export function preparedPolicy(text: string, layer: Layer): Steps<CompiledPolicy> | undefined {
  const key = keyOf(text, layer);
  return find(key) ? undefined : prepare(key, text, layer);
}

function* prepare(key: string, text: string, layer: Layer): Steps<CompiledPolicy> {
  const found = find(key);
  return (found ?? keep(key, yield* policySteps(text, layer))).policy;
}

function find(key: string): PolicyCompilation | undefined {
  const policy = present.get(key)?.deref();
  return policy && compilations.get(policy);
}

function keep(key: string, compilation: PolicyCompilation): PolicyCompilation {
  const { policy } = compilation;
  compilations.set(policy, compilation);
  present.set(key, new WeakRef(policy));
  collected.register(policy, key);
  return compilation;
}

function keyOf(text: string, layer: Layer): string {
  return `${layer} ${hash("sha256", text, "base64")}`;
}
