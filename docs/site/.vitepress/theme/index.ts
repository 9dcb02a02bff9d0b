/** VitePress's own theme with a wider text column and the colors of the console. */
import DefaultTheme from "vitepress/theme";
import "./style.css";

// VitePress reads the default export.
export default DefaultTheme;
