/** What came in the header of an answer, kept beside the object that it brought. */
export interface Answer {
  readonly status: number;
  /** For `ifMatch`; single objects have one. */
  readonly etag: string | undefined;
  /** Revision that was written or read. */
  readonly revision: number | undefined;
  /** Id of the request, as in the server's log. */
  readonly operationId: string | undefined;
  /** What was taken as it was given, and was probably not meant so: the field, and why. */
  readonly warnings: readonly string[];
  /** What else a write that was only tried would change, such as `delete ip_policy_rule` and an id. */
  readonly also: readonly string[];
  header(name: string): string | undefined;
}

const answers = new WeakMap<object, Answer>();

export function makeAnswer(status: number, headers: { get(name: string): string | null }): Answer {
  const header = (name: string): string | undefined => headers.get(name) ?? undefined;
  const revision = header("postern-revision");
  return {
    status,
    etag: header("etag"),
    revision: revision === undefined ? undefined : Number(revision),
    operationId: header("postern-operation-id"),
    warnings: quotedTexts(header("postern-warning") ?? ""),
    also: quotedTexts(header("postern-also") ?? ""),
    header,
  };
}

export function rememberAnswer(body: object, answer: Answer): void {
  answers.set(body, answer);
}

/** The texts of a list of strings (RFC 8941 §3.3.3), percent-encoded where they are no visible ASCII. */
function quotedTexts(list: string): string[] {
  return Array.from(list.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => {
    const plain = text.replaceAll(/\\(.)/g, "$1");
    try {
      return decodeURIComponent(plain);
    } catch {
      return plain;
    }
  });
}

/** The answer that brought `object`. Throws `TypeError` for what a call did not return itself. */
export function answerOf(object: object): Answer {
  const answer = answers.get(object);
  if (!answer) throw new TypeError("the object is not the one that a call returned: copies have no answer");
  return answer;
}

export function etagOf(given: string | object): string {
  if (typeof given === "string") return given;
  const { etag } = answerOf(given);
  if (etag === undefined) throw new TypeError("the object came without an ETag: get it on its own");
  return etag;
}
