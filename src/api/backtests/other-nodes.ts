/** The captured requests of the other nodes, through their edges. */
import type { RecordingNode } from "../../routing/planes/captured-blocks.ts";
import type { EdgeLine } from "../edges/edges.ts";
import type { EdgeQueries } from "../edges/queries.ts";

/** Each edge of a node can answer for it, so a node is gone only if none does. */
export function recordingNodes(
  linesByNode: ReadonlyMap<string, readonly EdgeLine[]> | undefined,
  queries: Pick<EdgeQueries, "askOne">,
): readonly RecordingNode[] {
  return Array.from(linesByNode ?? [], ([id, lines]) => ({
    id,
    async ask(question) {
      for (const line of lines) {
        const answer = await queries.askOne(line, { name: "captured_blocks", question });
        if (answer?.name === "captured_blocks") return answer.answer;
      }
      return undefined;
    },
  }));
}
