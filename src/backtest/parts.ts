/**
 * The parts of a decision that its inputs alone do not determine: they depend on the outside, on secret values, or on
 * earlier requests. With the present configuration, their results come from the record. With the candidate, an
 * unchanged part keeps the result of the present configuration, unless a simulation of both shows a difference.
 */

/** The result of a part, with a text that differs for different results. */
export interface PartResult<T> {
  readonly value: T;
  readonly text: string;
}

interface SimulatedPart<T> {
  /** What the simulation said. */
  readonly simulated: string;
  /** The text of what the simulation read, if that matters. */
  readonly input: string;
  /** Undefined if it cannot be known. */
  readonly result: PartResult<T> | undefined;
}

export interface AskedPart<T> {
  /** Equal for parts with the same configuration at the same place. */
  readonly key: string;
  readonly input: string;
  readonly simulated: PartResult<T>;
  /** Whether the simulation lacked something. */
  readonly lacks: boolean;
  /** The recorded result; undefined if the record has none that applies. */
  readonly recorded: PartResult<T> | undefined;
}

/** Parts of one request with the present configuration. */
export class PresentParts {
  readonly #parts = new Map<string, SimulatedPart<unknown>>();

  settle<T>({ key, input, simulated, lacks, recorded }: AskedPart<T>): PartResult<T> | undefined {
    const result = recorded ?? (lacks ? undefined : simulated);
    this.#parts.set(key, { simulated: simulated.text, input, result });
    return result;
  }

  find(key: string): SimulatedPart<unknown> | undefined {
    return this.#parts.get(key);
  }
}

/** Parts of the same request with the candidate. */
export class CandidateParts {
  readonly #present: PresentParts;

  constructor(present: PresentParts) {
    this.#present = present;
  }

  settle<T>({ key, input, simulated, lacks }: AskedPart<T>): PartResult<T> | undefined {
    const part = this.#present.find(key) as SimulatedPart<T> | undefined;
    const isSame = part !== undefined && part.input === input;
    if (!isSame) return lacks ? undefined : simulated;
    return lacks || part.simulated === simulated.text ? part.result : simulated;
  }
}
