/** Header values of a response, stored beside the object that it contained. */
export interface Answer {
  readonly status: number;
  /** Value for `ifMatch`; only single objects have one. */
  readonly etag: string | undefined;
  /** Revision that was written or read. */
  readonly revision: number | undefined;
  /** Id of the request, as in the server's log. */
  readonly operationId: string | undefined;
  /** Fields whose values were accepted but are probably mistakes, with the reasons. */
  readonly warnings: readonly string[];
  /** Other changes that a rehearsed write would make, such as `delete ip_policy_rule` and an id. */
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
    warnings: parseQuotedTexts(header("postern-warning") ?? ""),
    also: parseQuotedTexts(header("postern-also") ?? ""),
    header,
  };
}

export function rememberAnswer(body: object, answer: Answer): void {
  answers.set(body, answer);
}

/** Parses a list of strings (RFC 8941 §3.3.3), percent-encoded except for visible ASCII. */
function parseQuotedTexts(list: string): string[] {
  return Array.from(list.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, text = ""]) => {
    const plain = text.replaceAll(/\\(.)/g, "$1");
    try {
      return decodeURIComponent(plain);
    } catch {
      return plain;
    }
  });
}

/** Returns the response that contained `object`. Throws `TypeError` for an object that no call returned. */
export function answerOf(object: object): Answer {
  const answer = answers.get(object);
  if (!answer) throw new TypeError("the object is not the one that a call returned: copies have no answer");
  return answer;
}

export function etagOf(revision: string | object): string {
  if (typeof revision === "string") return revision;
  const { etag } = answerOf(revision);
  if (etag === undefined) throw new TypeError("the object came without an ETag: get it on its own");
  return etag;
}
