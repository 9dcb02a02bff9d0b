/** A stage of a response's body that reads it whole and replaces in it what is found. */
import { Transform } from "node:stream";
import { maxBodyBytes, replaceInBytes, ReplaceFault } from "./find-replace.ts";
import type { TextReplacement } from "./find-replace.ts";

/** A body that is too long, or cannot be changed, passes as it is. At most `maxBodyBytes` are held. */
export function makeReplacingStage(replacements: readonly TextReplacement[]): Transform {
  let held: Buffer[] = [];
  let length = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length;
      held.push(chunk);
      if (length > maxBodyBytes) {
        for (const piece of held) this.push(piece);
        held = [];
      }
      done();
    },
    async flush(done) {
      const body = Buffer.concat(held);
      held = [];
      const replaced = await replaceInBytes(body, replacements, { maxLength: maxBodyBytes });
      done(null, replaced instanceof ReplaceFault ? body : replaced.content);
    },
  });
}
