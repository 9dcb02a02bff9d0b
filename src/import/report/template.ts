/** Text in a template of a traffic policy: a `${` of the source must not become an expression. */
export function literal(text: string): string {
  return text.replaceAll("${", () => "$${");
}

/** Whether a value of a header module would be read as a template, which has no way to write `${` itself. */
export function hasTemplate(text: string): boolean {
  return text.includes("${");
}
