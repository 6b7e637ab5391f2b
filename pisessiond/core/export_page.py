"""The look and the search of an exported page: constant texts, nothing of a session in them.

The page fetches nothing and runs nothing but these two, which its policy names by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--page:#fff;--text:#1c1e21;--dim:#5b626b;--line:#d8dce1;
--soft:#f4f6f8;--user:#0b5cad;--answer:#1c6b3a;--warn:#a1340f;--label:#6a3fa0;--leaf:#fff3c4}
@media (prefers-color-scheme:dark){:root{--page:#16181b;--text:#e4e6e9;--dim:#a0a7b0;
--line:#353a40;--soft:#1f2327;--user:#7db8ff;--answer:#7ed69b;--warn:#ffa47d;--label:#cba6ff;
--leaf:#4a3f14}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main,.top{max-width:60rem;margin:0 auto;padding:0 1rem}
.top{padding-top:1.5rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem;overflow-wrap:anywhere}
.facts,.m,.note{color:var(--dim)}
.facts{margin:0;font-size:.875rem;overflow-wrap:anywhere}
.find{position:sticky;top:0;z-index:1;background:var(--page);border-bottom:1px solid var(--line);
margin-top:1rem}
.find div{max-width:60rem;margin:0 auto;padding:.5rem 1rem;display:flex;gap:.75rem;
align-items:center}
.find input{flex:1;min-width:0;font:inherit;color:inherit;background:var(--soft);
border:1px solid var(--dim);border-radius:.375rem;padding:.25rem .6rem}
.find output:empty{display:none}
.find output{color:var(--dim);font-size:.875rem;white-space:nowrap;
font-variant-numeric:tabular-nums}
main{padding-top:.5rem;padding-bottom:4rem}
.day{color:var(--dim);font-size:.8125rem;font-weight:600;margin:1.25rem 0 .25rem}
.e{padding:.375rem .75rem;border-left:3px solid transparent;scroll-margin-top:4.5rem}
.user{border-left-color:var(--user);background:var(--soft);margin-top:.75rem;
padding:.5rem .75rem;border-radius:0 .375rem .375rem 0}
.summary{border-left-color:var(--label)}
.hit{outline:2px solid var(--user);outline-offset:1px}
.head{display:flex;flex-wrap:wrap;column-gap:.5rem;align-items:baseline}
.who{font-weight:600}.user .who{color:var(--user)}.answer .who{color:var(--answer)}
.m{margin-left:auto;font-size:.8125rem;white-space:nowrap;font-variant-numeric:tabular-nums}
.note{font-size:.875rem;overflow-wrap:anywhere}
.l{color:var(--label);font-weight:600;overflow-wrap:anywhere}
.l::before{content:"["}.l::after{content:"]"}
.bad{color:var(--warn);font-weight:600}
.x{white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4;margin:.125rem 0;unicode-bidi:isolate}
pre{white-space:pre-wrap;overflow-wrap:anywhere;tab-size:4;margin:.25rem 0 .5rem;
padding:.5rem .75rem;background:var(--soft);border:1px solid var(--line);border-radius:.375rem;
font:.8125rem/1.45 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;unicode-bidi:isolate}
summary{cursor:pointer;padding:.125rem 0;overflow-wrap:anywhere}
summary:hover{background:var(--soft)}
:focus-visible{outline:2px solid var(--user);outline-offset:2px}
.step{padding-top:.125rem;padding-bottom:.125rem}
summary .m{float:right;margin-left:.5rem}
.note .m{float:right}p.note{margin:.125rem 0}
.part>summary{font-size:.875rem;color:var(--dim)}
.part>summary b{font-weight:500;color:var(--text)}
.work{padding-left:.75rem}.work>.in{border-left:1px solid var(--line);padding-left:.5rem}
.work>summary{color:var(--dim);font-size:.9375rem}
.branch{margin:.25rem 0 .25rem .75rem}
.branch>.in{border-left:2px solid var(--line);margin-left:.3rem;padding-left:.5rem}
.branch>summary{font-size:.9375rem}
.size{color:var(--dim);font-size:.8125rem;white-space:nowrap}
.here{background:var(--leaf);padding:.375rem .75rem;margin:.5rem 0;border-radius:.375rem;
font-weight:600}
.v{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.graph{margin:.75rem 0 1rem;font-size:.875rem;
--c0:var(--user);--c1:var(--answer);--c2:var(--warn);--c3:var(--label);--c4:#7a5c00;--c5:#0b6a75;
--c6:#9c2f6b;--c7:#4d5a1f;--c8:var(--dim);--c9:var(--dim)}
.graph>summary{font-weight:600}
.graph ol{list-style:none;margin:.25rem 0 0;padding:0}
.graph li{display:flex;align-items:center;gap:.5rem;height:26px;white-space:nowrap}
.graph li:hover{background:var(--soft)}
.graph svg{flex:none;overflow:visible}
.graph .t{flex:none;width:3.25rem;color:var(--dim);font-size:.8125rem;text-align:right;
font-variant-numeric:tabular-nums}
.graph .w{flex:1;min-width:0;position:relative;overflow:hidden;text-overflow:ellipsis}
.graph .size{flex:none;font-variant-numeric:tabular-nums}
.graph a{color:inherit;text-decoration:none}.graph a:hover{text-decoration:underline}
.graph .s{color:var(--user);font-weight:600}
.graph path{fill:var(--c0)}.graph circle{fill:var(--page);stroke:var(--text);stroke-width:1.5}
.graph text{fill:var(--dim);font-size:11px}
.graph .h{fill:var(--leaf);stroke-width:3}
.graph .b{stroke:var(--text);stroke-width:4}
.graph .d{fill:none;stroke:var(--c0);stroke-width:2}
.graph .k1{fill:var(--c1)}.graph .k2{fill:var(--c2)}.graph .k3{fill:var(--c3)}
.graph .k4{fill:var(--c4)}.graph .k5{fill:var(--c5)}.graph .k6{fill:var(--c6)}
.graph .k7{fill:var(--c7)}.graph .k8,.graph .k9,.graph .ka{fill:var(--c8)}
.graph .c1{stroke:var(--c1);stroke-dasharray:3 2}.graph .c2{stroke:var(--c2);stroke-dasharray:6 2}
.graph .c3{stroke:var(--c3);stroke-dasharray:1 2}.graph .c4{stroke:var(--c4);stroke-dasharray:9 2}
.graph .c5{stroke:var(--c5);stroke-dasharray:6 2 1 2}.graph .c6{stroke:var(--c6)}
.graph .c7{stroke:var(--c7);stroke-dasharray:2 4}.graph .c8{stroke:var(--c8);stroke-dasharray:4 4}
.graph .c9{stroke:var(--c9)}
@media (prefers-color-scheme:dark){.graph{--c4:#e3c565;--c5:#6fd0dc;--c6:#f29ac4;--c7:#bcd08a}}
@media (forced-colors:active){.graph{--c0:CanvasText;--c1:CanvasText;--c2:CanvasText;
--c3:CanvasText;--c4:CanvasText;--c5:CanvasText;--c6:CanvasText;--c7:CanvasText;--c8:GrayText;
--c9:GrayText;--page:Canvas;--text:CanvasText;--leaf:Canvas;--dim:CanvasText}
.graph .h{stroke:Highlight}}
@media (max-width:32rem){.graph .t{display:none}}
@media (max-width:32rem){body{font-size:15px}main,.top,.find div{padding-left:.5rem;
padding-right:.5rem}
.branch{margin-left:.25rem}.e{padding-left:.5rem}}
@media print{.find{display:none}}
"""

SCRIPT: Final = """
(() => {
  "use strict";
  const bar = document.querySelector(".find");
  const box = bar.querySelector("input");
  const told = bar.querySelector("output");
  const entries = [...document.querySelectorAll(".e")];
  const texts = new Map();
  const opened = new Set();
  let hits = [];
  let at = -1;
  bar.hidden = false;
  const textOf = (entry) => {
    if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
    return texts.get(entry);
  };
  const open = (element, keep) => {
    for (let up = element; up; up = up.parentElement) {
      if (up.tagName === "DETAILS" && !up.open) {
        up.open = true;
        keep.add(up);
      }
    }
  };
  const closeAgain = () => {
    for (const fold of opened) fold.open = false;
    opened.clear();
  };
  const show = (number) => {
    document.querySelector(".hit")?.classList.remove("hit");
    closeAgain();
    at = (number + hits.length) % hits.length;
    const entry = hits[at];
    const word = box.value.trim().toLowerCase();
    open(entry, opened);
    for (const fold of entry.querySelectorAll("details")) {
      if (fold.textContent.toLowerCase().includes(word)) open(fold, opened);
    }
    entry.classList.add("hit");
    entry.scrollIntoView({ block: "center" });
    told.textContent = `${at + 1} of ${hits.length}`;
  };
  const search = () => {
    const word = box.value.trim().toLowerCase();
    hits = word ? entries.filter((entry) => textOf(entry).includes(word)) : [];
    if (hits.length) {
      show(0);
    } else {
      document.querySelector(".hit")?.classList.remove("hit");
      closeAgain();
      told.textContent = word ? "not found" : "";
    }
  };
  let waiting = 0;
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && hits.length) show(at + (event.shiftKey ? -1 : 1));
    if (event.key === "Escape") {
      box.value = "";
      search();
    }
  });
})();
"""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY: Final = (
    f"default-src 'none'; style-src {_hash(STYLE)}; script-src {_hash(SCRIPT)}; "
    "base-uri 'none'; form-action 'none'"
)

HEAD: Final = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta name="referrer" content="no-referrer">\n'
    '<meta name="color-scheme" content="light dark">\n'
)

FIND: Final = (
    '<div class="find" role="search" hidden><div>'
    '<input type="search" aria-label="Search in this session" placeholder="Search in this session">'
    '<output aria-live="polite"></output></div></div>\n'
)
