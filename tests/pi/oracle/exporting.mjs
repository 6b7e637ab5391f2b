// What pi exports of a branch, and how the Markdown that pi comes with renders a text.

import { Opened, withCopy } from "./opened.mjs";

const scope = new URL("../node_modules/@earendil-works/", import.meta.url);
const from = (file) => import(new URL(file, scope).href);
const { serializeSessionBranch } = await from("pi-coding-agent/dist/core/session-export.js");

/** The text pi would write for the branch down to an entry, or down to pi's own leaf. */
export function exportBranch({ path, id }) {
  return withCopy(path, (copy) => {
    const opened = new Opened(copy);
    if (id !== undefined) opened.manager.branch(id);
    return serializeSessionBranch(opened.manager);
  });
}

const { marked } = await import(new URL("../node_modules/marked/lib/marked.esm.js", import.meta.url));

/** The HTML of a Markdown text; nothing is taken out of it. */
export const renderMarkdown = ({ text }) => marked.parse(text, { gfm: true });
