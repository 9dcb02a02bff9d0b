import { CelFailure } from "../../cel/values/cel-failure.ts";
import type { Result } from "../../cel/values/budget.ts";
import type { Value } from "../../cel/values/cel-values.ts";
import { f } from "../../schema/fields.ts";
import { breakWith, defineAction, makeDone } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { compileStructure } from "../language/structure.ts";

const maxVars = 50;

export const setVars = defineAction({
  type: "set-vars",
  phases: ["on_tcp_connect", "on_http_request", "on_http_response"],
  doc: "Sets variables for later rules and actions in the phase, in order: `vars.name`. A value that is exactly one `${…}` keeps its type.",
  config: {
    vars: f.list(
      "Variables, one in each map; values of any type, with `${…}` in texts.",
      f.map("A name and its value.", f.string("The value.", { maxBytes: 4096 }), { minItems: 1, maxItems: 1 }),
      { required: true, minItems: 1, maxItems: maxVars },
    ),
  },
  raw: ["vars"],
  compile({ vars }, scope) {
    const compiled: { readonly name: string; readonly value: (context: PolicyContext) => Result }[] = [];
    const given: unknown = vars;
    if (!Array.isArray(given)) scope.wrong("vars", "must be a list of maps with one name each", "policy_vars_form");
    else if (given.length === 0) scope.wrong("vars", "must not be empty", "policy_value_empty");
    else if (given.length > maxVars) scope.wrong("vars", `must have at most ${maxVars}`, "policy_many");
    else {
      for (const [at, one] of given.entries()) {
        const entries = typeof one === "object" && one !== null && !Array.isArray(one) ? Object.entries(one) : [];
        const [entry] = entries;
        if (!entry || entries.length > 1) {
          scope.wrong(`vars[${at}]`, "must be a map with one name", "policy_vars_form");
          continue;
        }
        const [name, value] = entry;
        if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name)) {
          scope.wrong(`vars[${at}]`, "must have a name of letters, digits and _, at most 128", "policy_value_invalid");
          continue;
        }
        compiled.push({ name, value: compileStructure(value, `vars[${at}].${name}`, scope) });
      }
    }
    const reason = `set ${compiled.map(({ name }) => name).join(", ")}`;
    return {
      run(context) {
        for (const { name, value } of compiled) {
          const result = value(context);
          if (result instanceof CelFailure) return breakWith(result);
          context.setVariable(name, result as Value);
        }
        return makeDone(reason);
      },
    };
  },
});
