/** Read by the delivery of events, in the control plane. */
import { namedText } from "./kinds/text.ts";
import { httpsUrl } from "./kinds/url.ts";
import { optional } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const eventSettings = {
  awsAccessKeyId: optional(
    "Id of the server's own AWS key, which assumes the roles of event destinations.",
    namedText("ID"),
    {
      needs: "awsSecretAccessKey",
    },
  ),
  awsSecretAccessKey: optional("The server's own AWS key.", namedText("KEY"), {
    secret: true,
    needs: "awsAccessKeyId",
  }),
  awsStsEndpoint: optional("Endpoint of AWS's token service (default: the endpoint of each region).", httpsUrl),
} as const;

export type EventSettings = ValuesOf<typeof eventSettings>;
