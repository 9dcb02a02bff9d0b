/** The reference page's only style sheet. */
export const style = `
:root { color-scheme: light dark; --edge: color-mix(in srgb, currentColor 18%, transparent); --dim: color-mix(in srgb, currentColor 65%, transparent); }
:root[data-colors=light] { color-scheme: light; }
:root[data-colors=dark] { color-scheme: dark; }
[hidden] { display: none !important; }
#tools { position: sticky; top: -1rem; padding: 1rem 0 .2rem; margin-top: -1rem; background: Canvas; }
#search { width: 100%; padding: .45rem .6rem; font: inherit; border: 1px solid var(--edge); border-radius: 6px; background: Field; color: FieldText; }
#tools p { display: flex; justify-content: space-between; margin: .4rem 0; }
#colors { font: inherit; padding: 0 .4rem; border: 1px solid var(--edge); border-radius: 6px; background: none; color: inherit; cursor: pointer; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; display: grid; grid-template-columns: 17rem minmax(0, 60rem); }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--edge); }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: block; padding: .15rem 0; text-decoration: none; }
main { padding: 1rem 2rem 6rem; }
a { color: light-dark(#0b5cad, #8cc4ff); }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--edge); }
h3 { margin: 1.2rem 0 .3rem; font-size: 1rem; }
code, pre { font: 13px/1.5 ui-monospace, monospace; }
pre { padding: .7rem 1rem; overflow: auto; border: 1px solid var(--edge); border-radius: 6px; }
details { border: 1px solid var(--edge); border-radius: 6px; margin: .4rem 0; }
details > :not(summary) { margin-left: 1rem; margin-right: 1rem; }
summary { padding: .4rem .8rem; cursor: pointer; }
.method { display: inline-block; width: 4.5rem; font-weight: 700; }
.dim { color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--edge); }
td:first-child code { white-space: nowrap; }
@media (max-width: 60rem) { body { display: block; } nav { position: static; height: auto; border: 0; } nav ul { columns: 2; } main { padding: 1rem; } }
`;
