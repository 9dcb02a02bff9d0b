/** Faults in our own code, from the outside: one method of a class throws once, and works again from then on. */

type Method = (this: unknown, ...given: unknown[]) => unknown;

export interface Planted {
  /** The method was called and threw. */
  readonly hasThrown: boolean;
  /** Puts the method back; harmless when it has thrown already. */
  remove(): void;
}

/** The error that planted faults throw. */
export const planted = "planted fault";

/**
 * Has `method` throw at its next call.
 * @param when asked with `this` and what is given; by default the first call throws
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
