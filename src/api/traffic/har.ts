/** Captured requests as entries of an HTTP archive (HAR 1.2), which browsers and other tools open. */
type Pairs = readonly (readonly [string, string])[];

/** The members of an exported line that an archive has. */
interface ExportedLine {
  readonly id: string;
  readonly received_at: string;
  readonly method: string;
  readonly scheme: string;
  readonly http_version: string;
  readonly authority: string;
  readonly target: string;
  readonly headers?: Pairs;
  readonly body?: string | null;
  readonly source_ip: string;
  readonly status_code: number;
  readonly upstream: { readonly waited_ms: number; readonly headers?: Pairs } | null;
  readonly duration_ms: number;
  readonly bytes_in: number;
  readonly bytes_out: number;
}

export const harStart = '{"log":{"version":"1.2","creator":{"name":"Postern","version":"1"},"entries":[';
export const harEnd = "]}}";
/** The end of an archive that lacks captured requests. */
export const harCutShort = '],"comment":"incomplete: some captured requests could not be read"}}';

export function harEntry(text: string): string {
  const line = JSON.parse(text) as ExportedLine;
  const url = `${line.scheme}://${line.authority}${line.target}`;
  const httpVersion = `HTTP/${line.http_version}`;
  const wait = line.upstream?.waited_ms ?? -1;
  const size = { headersSize: -1, cookies: [], httpVersion };
  return JSON.stringify({
    startedDateTime: line.received_at,
    time: line.duration_ms,
    request: {
      ...size,
      method: line.method,
      url,
      headers: toNamedPairs(line.headers),
      queryString: [...new URL(url, "http://unknown").searchParams].map(([name, value]) => ({ name, value })),
      bodySize: line.bytes_in,
      ...(typeof line.body === "string" && {
        postData: { mimeType: valueOf(line.headers, "content-type"), text: line.body, encoding: "base64" },
      }),
    },
    response: {
      ...size,
      status: line.status_code,
      statusText: "",
      headers: toNamedPairs(line.upstream?.headers),
      content: { size: line.bytes_out, mimeType: valueOf(line.upstream?.headers, "content-type") },
      redirectURL: "",
      bodySize: line.bytes_out,
    },
    cache: {},
    timings: { send: 0, wait, receive: Math.max(0, line.duration_ms - Math.max(0, wait)) },
    _requestId: line.id,
    _clientAddress: line.source_ip,
  });
}

function toNamedPairs(headers: Pairs | undefined): readonly object[] {
  return (headers ?? []).map(([name, value]) => ({ name, value }));
}

function valueOf(headers: Pairs | undefined, wanted: string): string {
  return headers?.find(([name]) => name === wanted)?.[1] ?? "";
}
