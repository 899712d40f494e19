"""What MkDocs has no setting for: links to files that are no pages, and the menu."""

import re
from pathlib import Path

HOST = "https://github.com/understudy-mock/understudy/blob/main/"
GROUP = re.compile(r"^## (.+)$|\[([^\]]+)\]\(([\w/-]+\.md)\)", re.MULTILINE)


def on_config(config):
    """The menu is the list of pages of the home page."""
    nav, group = [{"Home": "README.md"}], None
    for title, text, page in GROUP.findall((Path(config["docs_dir"]) / "README.md").read_text(encoding="utf-8")):
        if title:
            group = []
            nav.append({title: group})
        elif group is not None:
            group.append({text: page})
    config["nav"] = [entry for entry in nav if all(entry.values())]
    return config


def on_page_markdown(markdown, page, **_):
    """Links that leave the folder docs lead to the source on its host."""
    depth = page.file.src_uri.count("/") + 1
    return re.sub(r"\]\((?:\.\./){%d}" % depth, f"]({HOST}", markdown)


def on_post_build(config):
    """All pages as one text, as a server has it at /_understudy/llms-full.txt."""
    docs = Path(config["docs_dir"])
    summary = (docs / "llms.txt").read_text(encoding="utf-8").split("\n\n")[1]
    pages = ["README.md", *(page for entry in config["nav"] for group in entry.values() if isinstance(group, list) for part in group for page in part.values())]
    parts = ["# Understudy\n\n" + summary + "\n"]
    for page in pages:
        name = page.removesuffix("/README.md").removesuffix(".md").split("/")[-1]
        parts.append(f"\n<!-- page: {name} -->\n\n" + (docs / page).read_text(encoding="utf-8"))
    (Path(config["site_dir"]) / "llms-full.txt").write_text("".join(parts), encoding="utf-8")
