/**
 * Returns a function that reads the error of the record at an index from per-record results. Undefined if the record
 * was accepted.
 */
export function recordFailure(results: unknown): (index: number) => string | undefined {
  const list: readonly unknown[] = Array.isArray(results) ? results : [];
  return (index) => {
    const result = list[index] as Readonly<Record<string, unknown>> | undefined;
    if (typeof result !== "object") return "the receiver's answer does not mention a record";
    const code = result["ErrorCode"];
    if (code === undefined || code === null) return undefined;
    const name = typeof code === "string" && /^[A-Za-z]{1,64}$/.test(code) ? ` with ${code}` : "";
    return `the receiver rejected a record${name}`;
  };
}
