import { flagSchema, listSchema, object, textSchema, textOrNull } from "../operation/shapes.ts";
import { metricNames } from "./metric-names.ts";

const numberOrNull = { type: ["number", "null"] } as const;

export const seriesSchema = object("The history of traffic.", {
  uri: textSchema("URI of the history."),
  since: { type: "string", format: "date-time", description: "Start of the first step." },
  until: { type: "string", format: "date-time", description: "End of the last step." },
  step_seconds: { type: "integer", description: "Length of each step." },
  complete: flagSchema("Whether every node has answered. If not, the numbers are too low."),
  groups: listSchema(
    "One group without `group_by`. With it, the groups with the most traffic, and then the sum of the others, if any.",
    object("Traffic of one service or with one reason.", {
      service_id: textOrNull("Id of the edge or endpoint; null for several services."),
      name: textOrNull("Host or address at which the service last had traffic."),
      reason: textOrNull(
        "With `group_by=reason`: the error code in the response, or else the module that denied the request; null for the sum of other reasons.",
      ),
      reason_text: textOrNull("Description of the error code."),
      series: listSchema(
        "One for each metric.",
        object("A metric over time.", {
          metric: { type: "string", enum: [...metricNames], description: "Name of the metric." },
          total: { ...numberOrNull, description: "Sum or percentile over all steps." },
          values: {
            ...listSchema("One value per step. Percentiles are null without requests.", numberOrNull),
          },
        }),
      ),
    }),
  ),
});
