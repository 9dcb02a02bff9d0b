/** Compiled policies, shared by all users of the same text on this thread, and compiled in slices beforehand. */
import { hash } from "node:crypto";
import type { Steps } from "../lib/slices.ts";
import { compilePolicy, policySteps } from "./compile-policy.ts";
import type { PolicyCompilation } from "./compile-policy.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
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
export function compileShared(text: string, layer: Layer): PolicyCompilation {
  const key = keyOf(text, layer);
  return findPrepared(key) ?? keepPrepared(key, compilePolicy(text, layer));
}

/**
 * Compiles a policy so that `compileShared` finds it; undefined if it already does. Hold the result until `compileShared`
 * was called.
 */
export function prepareShared(text: string, layer: Layer): Steps<CompiledPolicy> | undefined {
  const key = keyOf(text, layer);
  return findPrepared(key) ? undefined : preparePolicy(key, text, layer);
}

function* preparePolicy(key: string, text: string, layer: Layer): Steps<CompiledPolicy> {
  const found = findPrepared(key);
  return (found ?? keepPrepared(key, yield* policySteps(text, layer))).policy;
}

function findPrepared(key: string): PolicyCompilation | undefined {
  const policy = present.get(key)?.deref();
  return policy && compilations.get(policy);
}

function keepPrepared(key: string, compilation: PolicyCompilation): PolicyCompilation {
  const { policy } = compilation;
  compilations.set(policy, compilation);
  present.set(key, new WeakRef(policy));
  collected.register(policy, key);
  return compilation;
}

function keyOf(text: string, layer: Layer): string {
  return `${layer} ${hash("sha256", text, "base64")}`;
}
