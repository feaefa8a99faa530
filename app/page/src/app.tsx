/** The page: the conversation, what happens in it, the tools, and the tree of the session. */
import { type FormEvent, type KeyboardEvent, type ReactNode, useCallback, useEffect, useRef, useState } from "react"
import type { AgentEvent, MessageRecord, Question, SessionState, ToolView, TreeEntry } from "../../protocol.ts"
import * as api from "./api.ts"
import { NOTHING, take } from "./live.ts"
import { say } from "./words.ts"

/** How long the page waits before it asks a server that is gone again, in milliseconds. */
const RETRY = 1000

/** The state of the page, and what can be done. */
function useAgent() {
  const [session, setSession] = useState<SessionState>()
  const [runId, setRunId] = useState<string | null>(null)
  const [live, setLive] = useState(NOTHING)
  const [isThere, setIsThere] = useState(true)
  const [problem, setProblem] = useState<string>()

  /** Takes over what the server says. A run that goes on there is listened to. */
  const align = useCallback((state: SessionState) => {
    setSession(state)
    setRunId(state.runId)
    setIsThere(true)
    if (state.runId === null) setLive(NOTHING)
  }, [])

  const load = useCallback(async () => {
    try {
      align(await api.getSession())
    } catch {
      setIsThere(false)
      setTimeout(load, RETRY)
    }
  }, [align])

  useEffect(() => {
    void load()
  }, [load])

  useEffect(() => {
    if (runId === null) return
    return api.listen(
      runId,
      (event) => {
        setLive((before) => take(before, event))
        if (event.type === "run_done") void load()
      },
      (open) => {
        setIsThere(open)
        // A run that a restart of the server has ended is unknown there: the session says how things are.
        if (!open) setTimeout(load, RETRY)
      },
    )
  }, [runId, load])

  /** Does something on the server and takes over what comes of it. */
  const act = useCallback(
    async (work: () => Promise<SessionState>) => {
      setProblem(undefined)
      try {
        align(await work())
      } catch (error) {
        if (error instanceof api.ServerError) setProblem(error.message)
        void load()
      }
    },
    [align, load],
  )

  const send = useCallback(
    async (prompt: string) => {
      setProblem(undefined)
      try {
        setLive(NOTHING)
        setRunId(await api.startRun(prompt))
      } catch (error) {
        setProblem(error instanceof Error ? error.message : String(error))
        void load()
      }
    },
    [load],
  )

  return { session, runId, live, isThere, problem, act, send }
}

export function App(): ReactNode {
  const { session, runId, live, isThere, problem, act, send } = useAgent()
  if (session === undefined) return <p className="notice">{isThere ? "…" : say("lost")}</p>
  const known = new Set(session.messages.map(({ id }) => id))
  const records = [...session.messages, ...live.records.filter(({ id }) => !known.has(id))]
  const events = runId === null ? session.events : live.events
  const decide = (allowed: boolean): void => {
    if (runId !== null && live.question) void api.answerQuestion(runId, live.question.id, allowed).catch(() => {})
  }
  return (
    <>
      <header>
        <h1>{say("title")}</h1>
        <span>
          {say("model")}: {session.model} · {session.project.folder} ({say(session.project.trust)})
        </span>
        <button type="button" onClick={() => act(api.reset)}>
          {say("reset")}
        </button>
      </header>
      {!isThere && (
        <p role="status" className="notice">
          {say("lost")}
        </p>
      )}
      {problem !== undefined && (
        <p role="alert" className="notice">
          {problem}
        </p>
      )}
      {session.damage.map((sentence) => (
        <p key={sentence} className="notice">
          {sentence}
        </p>
      ))}
      {session.project.trust === "undecided" && session.project.brings && (
        <TrustQuestion folder={session.project.folder} onDecide={(trust) => act(() => api.setTrust(trust))} />
      )}
      <main>
        <section aria-label={say("conversation")} className="conversation">
          <Conversation records={records} events={events} text={live.text} />
          {live.question && <QuestionBox question={live.question} onDecide={decide} />}
          <PromptForm
            isBusy={runId !== null}
            onSend={send}
            onCancel={() => runId !== null && act(() => api.cancelRun(runId))}
          />
        </section>
        <aside>
          <Tree
            tree={session.tree}
            leafId={session.leafId}
            isBusy={runId !== null}
            onChoose={(id) => act(() => api.branch(id))}
          />
          <Tools tools={session.tools} />
          <Events events={events} />
        </aside>
      </main>
    </>
  )
}

function TrustQuestion({
  folder,
  onDecide,
}: {
  folder: string
  onDecide(trust: "trusted" | "untrusted"): void
}): ReactNode {
  return (
    <fieldset className="question" aria-label={say("trust")}>
      <p>
        {say("trustAsk")} <code>{folder}</code>
      </p>
      <button type="button" onClick={() => onDecide("trusted")}>
        {say("trust")}
      </button>
      <button type="button" onClick={() => onDecide("untrusted")}>
        {say("distrust")}
      </button>
    </fieldset>
  )
}

/** The words and calls of a message. They are set as text: whatever a model writes, it cannot become markup. */
function Message({ record, decisions }: { record: MessageRecord; decisions: ReadonlyMap<string, string> }): ReactNode {
  const { message } = record
  const isError =
    message.role === "toolResult" ? message.isError : message.role === "assistant" && message.stopReason === "error"
  const who = message.role === "user" ? say("you") : message.role === "assistant" ? say("agent") : say("result")
  return (
    <article className={`${message.role}${isError ? " failed" : ""}`}>
      <h3>
        {who}
        {isError && ` (${say("error")})`}
      </h3>
      {message.content.map((block, index) =>
        block.type === "text" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks never move
          <pre key={index}>{block.text}</pre>
        ) : (
          <p key={block.id} className="call">
            <code>
              {block.name}(
              {Object.entries(block.input)
                .map(([name, value]) => `${name}: ${value}`)
                .join(", ")}
              )
            </code>{" "}
            <em>{decisions.get(block.id)}</em>
          </p>
        ),
      )}
    </article>
  )
}

function Conversation({
  records,
  events,
  text,
}: {
  records: MessageRecord[]
  events: AgentEvent[]
  text: string
}): ReactNode {
  const end = useRef<HTMLDivElement>(null)
  const decisions = new Map(
    events.flatMap((event) => (event.type === "tool_decision" ? [[event.toolCallId, event.decision.type]] : [])),
  )
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever is added is scrolled to
  useEffect(() => {
    end.current?.scrollIntoView({ block: "nearest" })
  }, [records.length, text])
  return (
    <div className="messages" aria-live="polite">
      {records.length === 0 && text === "" && <p className="hint">{say("empty")}</p>}
      {records.map((record) => (
        <Message key={record.id} record={record} decisions={decisions} />
      ))}
      {text !== "" && (
        <article className="assistant arriving">
          <h3>{say("agent")}</h3>
          <pre>{text}</pre>
        </article>
      )}
      <div ref={end} />
    </div>
  )
}

/** Shows what will happen, and asks. The answer no has the focus. */
function QuestionBox({ question, onDecide }: { question: Question; onDecide(allowed: boolean): void }): ReactNode {
  return (
    <div role="alertdialog" className="question" aria-label={say("question")}>
      <p>
        <strong>{say("question")}</strong> {question.text}
      </p>
      {question.diff !== undefined && <pre className="diff">{question.diff}</pre>}
      {/* biome-ignore lint/a11y/noAutofocus: a question has to be noticed, and no is the answer that does no damage */}
      <button type="button" autoFocus onClick={() => onDecide(false)}>
        {say("deny")}
      </button>
      <button type="button" onClick={() => onDecide(true)}>
        {say("allow")}
      </button>
    </div>
  )
}

function PromptForm({
  isBusy,
  onSend,
  onCancel,
}: {
  isBusy: boolean
  onSend(prompt: string): void
  onCancel(): void
}): ReactNode {
  const [prompt, setPrompt] = useState("")
  const submit = (event: FormEvent | KeyboardEvent): void => {
    event.preventDefault()
    if (isBusy || prompt.trim() === "") return
    onSend(prompt.trim())
    setPrompt("")
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    // Enter that ends a word of an input method is not meant for us.
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) submit(event)
  }
  return (
    <form onSubmit={submit}>
      <textarea
        aria-label={say("prompt")}
        placeholder={say("prompt")}
        rows={2}
        value={prompt}
        onChange={(event) => setPrompt(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isBusy ? (
        <button type="button" onClick={onCancel}>
          {say("cancel")}
        </button>
      ) : (
        <button type="submit">{say("send")}</button>
      )}
    </form>
  )
}

/** How deep an entry stands: a step for each branching above it. */
function depthsOf(tree: readonly TreeEntry[]): Map<string, number> {
  const children = new Map<string | null, number>()
  for (const { parentId } of tree) children.set(parentId, (children.get(parentId) ?? 0) + 1)
  const depths = new Map<string, number>()
  for (const { id, parentId } of tree) {
    const above = parentId === null ? 0 : (depths.get(parentId) ?? 0)
    depths.set(id, above + ((children.get(parentId) ?? 0) > 1 ? 1 : 0))
  }
  return depths
}

function Tree({
  tree,
  leafId,
  isBusy,
  onChoose,
}: {
  tree: TreeEntry[]
  leafId: string | null
  isBusy: boolean
  onChoose(id: string | null): void
}): ReactNode {
  const depths = depthsOf(tree)
  const here = <em> ← {say("here")}</em>
  return (
    <section aria-label={say("tree")}>
      <h2>{say("tree")}</h2>
      <p className="hint">{say("treeHint")}</p>
      <ul className="tree">
        <li>
          <button type="button" disabled={isBusy} aria-current={leafId === null} onClick={() => onChoose(null)}>
            ({say("beforeFirst")}){leafId === null && here}
          </button>
        </li>
        {tree.map(({ id, role, preview }) => (
          <li key={id} style={{ marginInlineStart: `${depths.get(id) ?? 0}em` }}>
            <button type="button" disabled={isBusy} aria-current={id === leafId} onClick={() => onChoose(id)}>
              {role === "user" ? say("you") : role === "assistant" ? say("agent") : say("result")}: {preview}
              {id === leafId && here}
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Tools({ tools }: { tools: ToolView[] }): ReactNode {
  return (
    <section aria-label={say("tools")}>
      <h2>{say("tools")}</h2>
      <ul>
        {tools.map(({ name, description, source, readOnly }) => (
          <li key={name}>
            <code>{name}</code> {description} ({readOnly ? say("reads") : say("asks")}
            {source !== "built-in" && `; ${say("source")} ${source}`})
          </li>
        ))}
      </ul>
    </section>
  )
}

function Events({ events }: { events: AgentEvent[] }): ReactNode {
  return (
    <section aria-label={say("events")}>
      <h2>{say("events")}</h2>
      <ol className="events">
        {events.map((event, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: events never move
          <li key={index}>
            <code>{event.type}</code>
          </li>
        ))}
      </ol>
    </section>
  )
}
