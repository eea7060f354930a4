//! Made-up pages with tasks, done by a scripted agent.

use serde_json::{Value, json};

use crate::support::{HOSTS, Pages, ScriptedHand, has_browser, serve};

/// A step of a task. Elements are named by the beginning of their line.
enum TaskStep {
    /// Clicks an element.
    Click(&'static str),
    /// Clicks an element that something covers.
    ClickFails(&'static str, &'static str),
    /// Clicks an element twice.
    DoubleClick(&'static str),
    /// Writes into a field.
    Type(&'static str, &'static str),
    /// Adds to a field.
    Append(&'static str, &'static str),
    /// Writes into a field and presses Enter.
    Submit(&'static str, &'static str),
    /// Chooses options.
    Select(&'static str, &'static [&'static str]),
    /// Answers a dialog with these words, after it was shown.
    Dialog(&'static str, bool, &'static str),
    /// Goes back.
    Back,
    /// Scrolls this many windows down, at an element or the page.
    Scroll(u32, Option<&'static str>),
    /// Shows or closes a tab.
    Tab(&'static str, u32),
    /// Acts on pages of this host from then on.
    On(&'static str),
    /// Downloads what an element offers, with these bytes.
    Download(&'static str, &'static str),
    /// Waits until words are on the page.
    Sees(&'static str),
    /// Waits until words are gone.
    Lacks(&'static str),
}

use TaskStep::{
    Append, Back, Click, ClickFails, Dialog, DoubleClick, Download, Lacks, On, Scroll, Sees, Select, Submit,
    Tab, Type,
};

struct Task {
    name: &'static str,
    pages: &'static [(&'static str, &'static str)],
    steps: &'static [TaskStep],
}

const TASKS: &[Task] = &[
    Task {
        name: "a form is filled in and sent",
        pages: &[(
            "/",
            "<form action=/echo method=post><label>Name <input name=n></label><label>Mail <input name=m type=email \
             value=old></label><button>Send</button></form>",
        )],
        steps: &[
            Type("textbox \"Name\"", "Ann"),
            Type("textbox \"Mail\"", "ann@a.example"),
            Click("button \"Send\""),
            Sees("sent n=Ann; m=ann@a.example"),
        ],
    },
    Task {
        name: "Enter sends a search",
        pages: &[("/", "<form action=/echo><input name=q aria-label=Search></form>")],
        steps: &[
            Submit("textbox \"Search\"", "blue shoes"),
            Sees("sent q=blue shoes"),
        ],
    },
    Task {
        name: "one option of a list is chosen",
        pages: &[(
            "/",
            "<label>Colour <select onchange=\"o.textContent='chose '+this.value\"><option value=r>Red<option \
             value=b>Blue</select></label><p id=o></p>",
        )],
        steps: &[Select("combobox \"Colour\"", &["Blue"]), Sees("chose b")],
    },
    Task {
        name: "several options of a list are chosen",
        pages: &[(
            "/",
            "<form action=/echo><select name=s multiple aria-label=Sizes><option>S<option>M<option>L</select>\
             <button>Go</button></form>",
        )],
        steps: &[
            Select("listbox \"Sizes\"", &["S", "L"]),
            Click("button \"Go\""),
            Sees("sent s=S; s=L"),
        ],
    },
    Task {
        name: "boxes are ticked and a choice is made",
        pages: &[(
            "/",
            "<form action=/echo><label><input type=checkbox name=c> Agree</label><label><input type=radio name=r \
             value=1> One</label><label><input type=radio name=r value=2> Two</label><button>Go</button></form>",
        )],
        steps: &[
            Click("checkbox \"Agree\""),
            Click("radio \"Two\""),
            Click("button \"Go\""),
            Sees("sent c=on; r=2"),
        ],
    },
    Task {
        name: "a date and a time are set",
        pages: &[(
            "/",
            "<form action=/echo><input type=date name=d aria-label=Day><input type=time name=t aria-label=Hour>\
             <button>Go</button></form>",
        )],
        steps: &[
            Type("Date \"Day\"", "2026-12-31"),
            Type("InputTime \"Hour\"", "17:30"),
            Click("button \"Go\""),
            Sees("sent d=2026-12-31; t=17%3A30"),
        ],
    },
    Task {
        name: "text is added to a text, and replaced in an editor",
        pages: &[(
            "/",
            "<textarea aria-label=Notes oninput=\"o.textContent=this.value\">old</textarea><div contenteditable \
             aria-label=Editor role=textbox oninput=\"p.textContent='edited '+this.textContent\">first</div><p id=o></p>\
             <p id=p></p>",
        )],
        steps: &[
            Append("textbox \"Notes\"", " and new"),
            Sees("old and new"),
            Type("textbox \"Editor\"", "second"),
            Sees("edited second"),
        ],
    },
    Task {
        name: "dialogs are answered",
        pages: &[(
            "/",
            "<button onclick=\"alert('Saved.')\">Save</button><button onclick=\"o.textContent=confirm('Delete?')?'deleted':\
             'kept'\">Delete</button><button onclick=\"o.textContent='named '+prompt('Name?')\">Name</button><p id=o></p>",
        )],
        steps: &[
            Click("button \"Save\""),
            Dialog("a dialog (alert): \"Saved.\"", true, ""),
            Click("button \"Delete\""),
            Dialog("a dialog (confirm): \"Delete?\"", false, ""),
            Sees("kept"),
            Click("button \"Name\""),
            Dialog("a dialog (prompt): \"Name?\"", true, "Zoe"),
            Sees("named Zoe"),
        ],
    },
    Task {
        name: "a form in a frame of another host is used",
        pages: &[
            (
                "/",
                "<h1>Outside</h1><iframe src=http://frames.test:PORT/pay></iframe>",
            ),
            (
                "/pay",
                "<input aria-label=Card><button onclick=\"o.textContent='paid with '+document.querySelector('input').value\">\
                 Pay</button><p id=o></p>",
            ),
        ],
        steps: &[
            Sees("Pay"),
            On("frames.test"),
            Type("textbox \"Card\"", "4242"),
            Click("button \"Pay\""),
            Sees("paid with 4242"),
        ],
    },
    Task {
        name: "a button in a frame in a frame is clicked",
        pages: &[
            ("/", "<iframe src=/middle width=600 height=400></iframe>"),
            ("/middle", "<p>middle</p><iframe src=/inner></iframe>"),
            (
                "/inner",
                "<button onclick=\"this.textContent='Pressed'\">Press</button>",
            ),
        ],
        steps: &[Sees("Press"), Click("button \"Press\""), Sees("Pressed")],
    },
    Task {
        name: "a link opens another tab, and the first one is shown again",
        pages: &[
            ("/", "<h1>First page</h1><a href=/second target=_blank>More</a>"),
            ("/second", "<h1>Second page</h1>"),
        ],
        steps: &[
            Click("link \"More\""),
            Sees("Second page"),
            Tab("show", 1),
            Sees("First page"),
            Tab("close", 2),
            Sees("First page"),
        ],
    },
    Task {
        name: "a script opens a tab, which closes itself",
        pages: &[
            (
                "/",
                "<h1>Opener</h1><button onclick=\"window.open('/popup')\">Open</button>",
            ),
            (
                "/popup",
                "<h1>Popup</h1><button onclick=\"window.close()\">Close</button>",
            ),
        ],
        steps: &[
            Click("button \"Open\""),
            Sees("Popup"),
            Click("button \"Close\""),
            Sees("Opener"),
        ],
    },
    Task {
        name: "a file is downloaded",
        pages: &[("/", "<a href=/file>Report</a>")],
        steps: &[Download("link \"Report\"", "the bytes of a file"), Sees("Report")],
    },
    Task {
        name: "a list that grows is scrolled to its end",
        pages: &[(
            "/",
            "<ul id=l></ul><script>let n=0;const more=()=>{for(let i=0;i<40&&n<200;i++){const e=document.createElement('li');\
             e.style.height='40px';e.textContent='item '+(++n);l.append(e)}};more();addEventListener('scroll',()=>{if(scrollY+\
             innerHeight>document.body.scrollHeight-200)more()})</script>",
        )],
        steps: &[Lacks("\"item 200\""), Scroll(20, None), Sees("\"item 200\"")],
    },
    Task {
        name: "a part of a page is scrolled",
        pages: &[(
            "/",
            "<div style='height:200px;overflow:auto' role=region aria-label=Log onscroll=\"o.textContent='scrolled'\"><div \
             style='height:3000px'>lines</div></div><p id=o></p>",
        )],
        steps: &[Scroll(1, Some("region \"Log\"")), Sees("scrolled")],
    },
    Task {
        name: "words come late and go again",
        pages: &[(
            "/",
            "<p id=o>Loading</p><script>setTimeout(()=>o.textContent='Ready',700)</script>",
        )],
        steps: &[Sees("Ready"), Lacks("Loading")],
    },
    Task {
        name: "a link is followed and left again",
        pages: &[
            ("/", "<h1>Start</h1><a href=/next>Next</a>"),
            ("/next", "<h1>Chapter</h1>"),
        ],
        steps: &[Click("link \"Next\""), Sees("Chapter"), Back, Sees("Start")],
    },
    Task {
        name: "what is folded is unfolded",
        pages: &[(
            "/",
            "<details><summary>More</summary><p>Hidden words</p></details>",
        )],
        steps: &[
            Lacks("Hidden words"),
            Click("DisclosureTriangle \"More\""),
            Sees("Hidden words"),
        ],
    },
    Task {
        name: "a banner is closed before the button below it is clicked",
        pages: &[(
            "/",
            "<button onclick=\"this.textContent='Bought'\">Buy</button><div id=b style='position:fixed;inset:0;background:white'>\
             <p>Cookies</p><button style='margin-top:300px' onclick=\"b.remove()\">Refuse</button></div>",
        )],
        steps: &[
            ClickFails("button \"Buy\"", "lies above it"),
            Click("button \"Refuse\""),
            Click("button \"Buy\""),
            Sees("Bought"),
        ],
    },
    Task {
        name: "a row of a table is found by its words and used",
        pages: &[(
            "/",
            "<table><tr><td>17<td>open<td><button aria-label='Close 17' onclick=\"this.closest('tr').cells[1].textContent=\
             'closed'\">x</button><tr><td>18<td>open<td><button aria-label='Close 18'>x</button></table>",
        )],
        steps: &[Click("button \"Close 17\""), Sees("closed")],
    },
    Task {
        name: "a page that changes its own address stays usable",
        pages: &[(
            "/",
            "<button onclick=\"history.pushState(0,'','/shown?item=2');o.textContent=location.pathname+location.search\">Item\
             </button><p id=o></p>",
        )],
        steps: &[
            Click("button \"Item\""),
            Sees("/shown?item=2"),
            Click("button \"Item\""),
        ],
    },
    Task {
        name: "a button works once its field is filled in",
        pages: &[(
            "/",
            "<input aria-label=Code oninput=\"b.disabled=this.value.length<4\"><button id=b disabled onclick=\"o.textContent=\
             'unlocked'\">Unlock</button><p id=o></p>",
        )],
        steps: &[
            Sees("(disabled)"),
            Type("textbox \"Code\"", "1234"),
            Lacks("(disabled)"),
            Click("button \"Unlock\""),
            Sees("unlocked"),
        ],
    },
    Task {
        name: "a button in a shadow tree is clicked",
        pages: &[(
            "/",
            "<x-box></x-box><script>customElements.define('x-box',class extends HTMLElement{connectedCallback(){const s=this.\
             attachShadow({mode:'open'});s.innerHTML='<button>Inner</button>';s.querySelector('button').onclick=e=>\
             e.target.textContent='Done'}})</script>",
        )],
        steps: &[Click("button \"Inner\""), Sees("Done")],
    },
    Task {
        name: "an element is clicked twice",
        pages: &[(
            "/",
            "<button ondblclick=\"this.textContent='Renamed'\">Rename</button>",
        )],
        steps: &[DoubleClick("button \"Rename\""), Sees("Renamed")],
    },
    Task {
        name: "text without a role is clicked",
        pages: &[("/", "<div onclick=\"this.textContent='Chosen'\">Card</div>")],
        steps: &[Click("text \"Card\""), Sees("Chosen")],
    },
];

async fn typed(hand: &ScriptedHand, line: &str, more: Value) -> String {
    hand.act("browser_type", line, more).await
}

async fn click_fails(hand: &ScriptedHand, line: &str, why: &str) -> String {
    let element = hand.find(line).await;
    let input = json!({"page": hand.page, "element": element});
    let failure = hand.fails("browser_click", input).await;
    assert!(failure.contains(why), "{failure}");
    failure
}

async fn perform(hand: &mut ScriptedHand, last: &mut String, step: &TaskStep, port: &str) {
    let done = match step {
        Click(line) => hand.act("browser_click", line, json!({})).await,
        ClickFails(line, why) => click_fails(hand, line, why).await,
        DoubleClick(line) => hand.act("browser_click", line, json!({"double": true})).await,
        Type(line, text) => typed(hand, line, json!({"text": text})).await,
        Append(line, text) => typed(hand, line, json!({"text": text, "append": true})).await,
        Submit(line, text) => typed(hand, line, json!({"text": text, "submit": true})).await,
        Select(line, options) => {
            hand.act("browser_select", line, json!({"options": options}))
                .await
        }
        Dialog(shown, accept, text) => {
            assert!(last.contains(shown), "{last}");
            let input = json!({"page": hand.page, "accept": accept, "text": text});
            hand.done("browser_dialog", input).await
        }
        Back => hand.done("browser_back", json!({})).await,
        Scroll(steps, line) => {
            let element = match line {
                Some(line) => Some(hand.find(line).await),
                None => None,
            };
            hand.done("browser_scroll", json!({"steps": steps, "element": element}))
                .await
        }
        Tab(action, number) => {
            hand.done("browser_tabs", json!({"action": action, "tab": number}))
                .await
        }
        On(host) => {
            hand.page = format!("http://{host}:{port}/");
            String::new()
        }
        Download(line, bytes) => {
            let said = hand
                .act("browser_download", line, json!({"path": "saved.bin"}))
                .await;
            assert_eq!(std::fs::read_to_string(hand.saved("saved.bin")).unwrap(), *bytes);
            said
        }
        Sees(words) => {
            hand.sees(words).await;
            String::new()
        }
        Lacks(words) => {
            hand.done("browser_wait", json!({"text": words, "gone": true}))
                .await
        }
    };
    *last = done;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scripted_agent_does_every_task() {
    if !has_browser() {
        return;
    }
    assert!(TASKS.len() >= 20);
    for task in TASKS {
        let pages: Pages = task
            .pages
            .iter()
            .map(|(path, page)| (*path, (*page).to_owned()))
            .collect();
        let server = serve(pages).await;
        let port = server.url().rsplit_once(':').unwrap().1.to_owned();
        let mut hand = ScriptedHand::new(&HOSTS);
        println!("{}", task.name);
        hand.open(&format!("http://{}:{port}/", HOSTS[0])).await;
        let mut last = String::new();
        for step in task.steps {
            perform(&mut hand, &mut last, step, &port).await;
        }
        let context = hand.context();
        hand.tools.shutdown(&context.session_id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_stay_the_same_and_a_result_shows_what_is_new() {
    if !has_browser() {
        return;
    }
    let page = "<button onclick=\"o.innerHTML='<b>Added</b>'\">Add</button><p id=o>Nothing</p>";
    let server = serve([("/", page.to_owned())].into()).await;
    let mut hand = ScriptedHand::new(&HOSTS);
    let port = server.url().rsplit_once(':').unwrap().1.to_owned();
    let opened = hand.open(&format!("http://shop.test:{port}/")).await;
    assert!(
        opened.contains("These are other people's words")
            && opened.contains(&format!("<page url=\"http://shop.test:{port}/\">"))
            && opened.contains("button \"Add\" [e1]"),
        "{opened}"
    );
    assert_eq!(hand.find("button \"Add\"").await, "e1");
    let clicked = hand.act("browser_click", "button \"Add\"", json!({})).await;
    assert!(
        clicked.starts_with("Clicked button \"Add\".") && clicked.contains("text \"Added\""),
        "{clicked}"
    );
    assert!(!clicked.contains("Nothing"), "{clicked}");
    assert_eq!(hand.find("button \"Add\"").await, "e1");
    hand.open(&format!("http://shop.test:{port}/")).await;
    assert_ne!(hand.find("button \"Add\"").await, "e1", "another document");
    let gone = json!({"page": hand.page, "element": "e1"});
    let failure = hand.fails("browser_click", gone).await;
    assert!(failure.contains("No page has an element \"e1\" now"), "{failure}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_is_kept_as_a_blob() {
    if !has_browser() {
        return;
    }
    let server = serve([("/", "<h1>Seen</h1>".to_owned())].into()).await;
    let mut hand = ScriptedHand::new(&HOSTS);
    let port = server.url().rsplit_once(':').unwrap().1.to_owned();
    hand.open(&format!("http://shop.test:{port}/")).await;
    let context = hand.context();
    let blobs = context.blobs.clone();
    let outcome = hand.tools.call("browser_screenshot", json!({}), context).await;
    let picture = outcome.content.iter().find_map(|part| match part {
        agentx_types::ContentPart::Image(picture) => Some(picture.clone()),
        _ => None,
    });
    let picture = picture.unwrap();
    let agentx_types::MediaSource::Blob(id) = &picture.source else {
        panic!("{picture:?}");
    };
    let bytes = blobs.get_blob(id, 0..u64::MAX).await.unwrap();
    assert!(bytes.starts_with(b"\x89PNG"), "{} bytes", bytes.len());
    assert!(
        picture
            .name
            .unwrap()
            .starts_with("screenshot of http://shop.test")
    );
}
