import { createRoot } from "react-dom/client"
import { App } from "./app.tsx"
import { isChinese, say } from "./words.ts"
import "./style.css"

document.documentElement.lang = isChinese ? "zh" : "en"
document.title = say("title")
createRoot(document.getElementById("root") as HTMLElement).render(<App />)
