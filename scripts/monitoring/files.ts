/** Dashboards and alerts in `deploy/monitoring`, made from the catalogue of metrics. */
import { stringify } from "yaml";
import { metricsCatalogue } from "../reference/metrics.ts";
import { dashboardOf } from "./dashboard.ts";
import { rulesOf } from "./rules.ts";

export function monitoringFiles(): readonly (readonly [path: string, content: string])[] {
  const catalogue = metricsCatalogue();
  const note = "# Generated from the declarations by `npm run generate`.\n";
  return [
    ["deploy/monitoring/dashboard.json", `${JSON.stringify(dashboardOf(catalogue), undefined, 2)}\n`],
    ["deploy/monitoring/rules.yaml", note + stringify(rulesOf(catalogue), { lineWidth: 0 })],
  ];
}
