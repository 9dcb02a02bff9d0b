/** Returns the error in `text` as an allowed origin of requests, as the end of "must …"; undefined if it is valid. */
export function originIssue(text: string): string | undefined {
  if (text === "*") return "name the origins one by one";
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return "be an origin such as https://app.example.com";
  return url.origin === text ? undefined : `be an origin as browsers send it: ${url.origin}`;
}
