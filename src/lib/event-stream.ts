/** Returns the complete events with data (WHATWG HTML, "Server-sent events"). */
export function eventsIn(text: string): { type: string; data: string }[] {
  const blocks = text.replaceAll(/\r\n?/g, "\n").split("\n\n").slice(0, -1);
  return blocks.flatMap((block) => {
    const fields = block.split("\n").map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? ["", "", ""]);
    const data = fields.filter(([, name]) => name === "data").map(([, , value]) => value);
    const type = fields.findLast(([, name]) => name === "event")?.[2] ?? "message";
    return data.length === 0 ? [] : [{ type, data: data.join("\n") }];
  });
}
