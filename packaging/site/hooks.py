"""What MkDocs has no setting for: links to files that are no pages, and the menu."""

import re
from pathlib import Path

HOST = "https://github.com/understudy-mock/understudy/blob/main/"
RAW = "https://raw.githubusercontent.com/understudy-mock/understudy/main/docs/"
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
    """The site has no Markdown: the links of llms.txt lead to the source on its host."""
    text = (Path(config["docs_dir"]) / "llms.txt").read_text(encoding="utf-8")
    (Path(config["site_dir"]) / "llms.txt").write_text(re.sub(r"\]\((?!https:)", f"]({RAW}", text), encoding="utf-8")
