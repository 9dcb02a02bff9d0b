/** The console in a browser. */
import { render } from "preact";
import "../ui/theme.css";
import { startTheme } from "../ui/theme.ts";

startTheme();
const place = document.querySelector("#page");
if (place) render(<main class="empty">…</main>, place);
