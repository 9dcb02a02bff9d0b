/** Faults in Postern's code, injected from outside: one method of a class throws once, and then works again. */

type Method = (this: unknown, ...given: unknown[]) => unknown;

export interface Planted {
  /** Whether the method was called and threw. */
  readonly hasThrown: boolean;
  /** Restores the method. Has no effect if the method has already thrown. */
  remove(): void;
}

/** Message of injected errors. */
export const planted = "planted fault";

/**
 * Makes `method` throw in its next call.
 * @param when receives `this` and the arguments; by default the first call throws
 */
export function throwOnce(
  prototype: object,
  method: string,
  when: (self: unknown, given: readonly unknown[]) => boolean = () => true,
): Planted {
  const before = Object.getOwnPropertyDescriptor(prototype, method);
  if (typeof before?.value !== "function") throw new Error(`plant a fault: there is no method ${method}`);
  const original = before.value as Method;
  let hasThrown = false;
  const remove = (): void => void Object.defineProperty(prototype, method, before);
  Object.defineProperty(prototype, method, {
    ...before,
    value(this: unknown, ...given: unknown[]) {
      if (hasThrown || !when(this, given)) return original.apply(this, given);
      hasThrown = true;
      remove();
      throw new Error(planted);
    },
  });
  return {
    get hasThrown() {
      return hasThrown;
    },
    remove,
  };
}
