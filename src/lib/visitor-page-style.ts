/** Style of the pages for visitors: logins and errors, light and dark. */

/** The colours, sizes and radii of `console/src/ui/theme.css`. */
export const visitorPageStyle =
  ":root{--bg:#f7f8f9;--surface:#fff;--sunken:#f0f2f4;--line:#dfe3e8;--text:#14181d;--muted:#5a6470;--accent:#0d746b;" +
  "--on:#fff;color-scheme:light dark}@media(prefers-color-scheme:dark){:root{--bg:#0b0d10;--surface:#12151a;" +
  "--sunken:#171b21;--line:#2a3039;--text:#e8ebee;--muted:#97a1ad;--accent:#3cc8b8;--on:#03211d}}" +
  "html{background:var(--bg)}body{font:15px/1.55 Inter,system-ui,sans-serif;max-width:30em;margin:12vh auto;" +
  "padding:1.5em 2em 2em;background:var(--surface);border:1px solid var(--line);border-radius:11px;color:var(--text);" +
  "overflow-wrap:anywhere}h1{font-size:22px;font-weight:620;letter-spacing:-.02em}" +
  "code{background:var(--sunken);border-radius:5px;padding:.1em .35em}footer{color:var(--muted);font-size:13px;" +
  "margin-top:2em}a{color:var(--accent)}a.do,button{display:inline-block;background:var(--accent);color:var(--on);" +
  "border:0;border-radius:7px;padding:.55em 1em;font:inherit;font-weight:540;text-decoration:none;cursor:pointer;" +
  "margin:.3em .5em .3em 0}@media(max-width:34em){body{margin:0;border:0;border-radius:0;min-height:100vh}}";
