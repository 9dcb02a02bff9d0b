/**
 * Random expressions that mostly have a value, the same for the same seed. They avoid known differences between the
 * oracle and the specification. These are characters beyond U+FFFF, `reverse`, `replace('', …)`, signs that cancel each
 * other through brackets, texts that are not numbers, and types or null as keys.
 */

type Kind = "bool" | "int" | "double" | "string" | "list" | "map" | "any";

export function randomExpression(seed: number): string {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const one = (texts: readonly string[]): string => texts[below(texts.length)] as string;
  let variables: readonly string[] = [];

  const leaves: Readonly<Record<Kind, readonly string[]>> = {
    bool: ["true", "false", "b"],
    int: ["0", "1", "-1", "3", "7", "i", "9223372036854775807", "-9223372036854775808", "size(l)"],
    double: ["0.0", "1.0", "-2.5", "d", "1e300", "m.a"],
    string: ["''", "'a'", "'bc'", "s", "t", "'€'", "'%s'", "m.c.d", "ls[1]"],
    list: ["[]", "[1, 2]", "['a', 'b']", "l", "ls", "[1, 'a', 2.0, null]", "m.b"],
    map: ["{}", "{'a': 1}", "{1: 'x', true: 2}", "m", "m.c"],
    any: ["null", "n", "1u", "b'ab'", "type(i)", "type(l) == list", "m.none", "i", "s", "l"],
  };

  const expression = (kind: Kind, depth: number): string => {
    if (kind === "any") kind = one(["bool", "int", "double", "string", "list", "map", "any"]) as Kind;
    if (depth === 0 || below(8) === 0)
      return variables.length > 0 && below(3) === 0 ? one(variables) : one(leaves[kind]);
    const sub = (of: Kind): string => expression(of, depth - 1);
    /** Occasionally returns another kind, so that both implementations must fail. */
    const maybe = (of: Kind): string => sub(below(20) === 0 ? "any" : of);
    const withVariable = (body: (name: string) => string): string => {
      const before = variables;
      const name = one(["x", "y", "z"]);
      variables = [...before, name];
      const text = body(name);
      variables = before;
      return text;
    };
    switch (kind) {
      case "bool":
        return [
          () => `(${maybe("bool")} && ${maybe("bool")})`,
          () => `(${maybe("bool")} || ${maybe("bool")} || ${sub("bool")})`,
          () => `!(${maybe("bool")} || false)`,
          () => `(${sub("any")} ${one(["==", "!="])} ${sub("any")})`,
          () => `(${sub("int")} ${one(["<", "<=", ">", ">=", "=="])} ${maybe("int")})`,
          () => `(${sub("double")} ${one(["<", "<=", ">", ">="])} ${sub(one(["int", "double"]) as Kind)})`,
          () => `(${sub("string")} ${one(["<", "<=", ">", ">=", "=="])} ${maybe("string")})`,
          () => `(${sub("any")} in ${sub("list")})`,
          () => `(('' + ${sub("string")}) in ${sub("map")})`,
          () => `${sub("string")}.${one(["contains", "startsWith", "endsWith"])}(${maybe("string")})`,
          () => `${sub("string")}.matches('${one(["a+", "^b", "l.o", "[^,]", "$", "(?i)A"])}')`,
          () => `has(m.${one(["a", "b", "q"])})`,
          () => withVariable((x) => `${sub("list")}.${one(["all", "exists", "exists_one"])}(${x}, ${sub("bool")})`),
        ][below(13)]?.() as string;
      case "int":
        return [
          () => `(${sub("int")} ${one(["+", "-", "*", "/", "%"])} ${maybe("int")})`,
          () => `size(${sub(one(["string", "list", "map"]) as Kind)})`,
          () => `-(${sub("int")} + 0)`,
          () => `int(${maybe("double")})`,
          () => `(${sub("bool")} ? ${sub("int")} : ${sub("int")})`,
          () => `${sub("string")}.${one(["indexOf", "lastIndexOf"])}(${sub("string")})`,
        ][below(6)]?.() as string;
      case "double":
        return [
          () => `(${sub("double")} ${one(["+", "-", "*", "/"])} ${maybe("double")})`,
          () => `double(0 + ${sub("int")})`,
          () => `-(${sub("double")} + 0.0)`,
        ][below(3)]?.() as string;
      case "string":
        return [
          () => `(${sub("string")} + ${maybe("string")})`,
          () => `string(${sub(one(["int", "bool", "string"]) as Kind)})`,
          () => `${sub("string")}.${one(["lowerAscii", "upperAscii", "trim"])}()`,
          () => `${sub("string")}.replace(${one(["'a'", "'l'", "','"])}, ${sub("string")})`,
          () => `${sub("string")}.substring(${one(["0", "1", "2", "i"])})`,
          () => `${sub("string")}.charAt(${one(["0", "1", "5"])})`,
          () => `${sub("list")}.join(${one(["','", "''"])})`,
          () => `(${sub("bool")} ? ${sub("string")} : ${sub("string")})`,
        ][below(8)]?.() as string;
      case "list":
        return [
          () => `(${sub("list")} + ${sub("list")})`,
          () => `[${sub("any")}, ${sub("any")}]`,
          () => `${sub("string")}.split(${one(["','", "'l'", "''"])})`,
          () => withVariable((x) => `${sub("list")}.map(${x}, ${sub("any")})`),
          () => withVariable((x) => `${sub("list")}.filter(${x}, ${sub("bool")})`),
          () => withVariable((x) => `${sub("list")}.map(${x}, ${sub("bool")}, ${sub("any")})`),
        ][below(6)]?.() as string;
      case "map":
        return `{${sub("string")}: ${sub("any")}, ${sub("int")}: ${sub("any")}}`;
      default:
        return [
          () => `${sub("list")}[${one(["0", "1", "3", "i"])}]`,
          () => `${sub("map")}[${sub("string")}]`,
          () => `dyn(${sub("any")})`,
        ][below(3)]?.() as string;
    }
  };
  return expression("any", 4);
}
