"""Words that say nothing about a goal, words that say little, and technical words that must stay whole."""

from __future__ import annotations

from holdfast.core.words import word_set

ENGLISH = word_set(
    """
    a about above across actually after afterwards again against ago ah all almost alone along already
    also although always am among an and another any anybody anymore anyone anything anyway anywhere are
    aren arent around as aside at away back basically be because been before behind being below beside
    between both but by can cannot cant claude come comes could couldn couldnt currently did didn didnt
    do does doesn doesnt doing don done dont down due during e.g each either else elsewhere enough
    especially etc even ever every everybody everyone everything everywhere exactly except far few first
    for from further furthermore get gets getting give given gives giving goes going gone gonna good got
    gotta great had hadn has hasn hasnt have haven havent having he hello hence her here hers herself
    hey hi him himself his hmm hmmm how however i i.e if im in indeed instead into is isn isnt it its
    itself ive just keep kind kinda later least less let lets like likely little ll look looking looks
    lot lots made make makes making many may maybe me mean means might mine more moreover most mostly
    much must mustn my myself near necessary need needed needing needs neither never nevertheless next
    nice no nobody none nor not nothing now nowhere of off often oh ok okay on once one ones only onto
    or other others otherwise ought our ours ourselves out over own particular per perhaps please pls
    plz possible possibly pretty probably properly put quite rather re really regarding right same say
    saying says see seem seemed seeming seems seen several shall she should shouldn shouldnt simply
    since so some somebody somehow someone something sometime sometimes somewhere soon sort specifically
    still stuff such sure take taken takes taking tell than thank thanks that thats the their theirs
    them themselves then thence there therefore theres these they thing things think thinking this those
    though through throughout thus til till to together too toward towards tried try trying under unless
    until up upon us use used useful uses using usually ve very via want wanted wants was wasn way ways
    we well went were weren what whatever whats when whenever where whereas wherever whether which while
    whilst who whoever whole whom whose why will with within without won wont would wouldn wouldnt wanna
    wish yeah yep yes yet you your youre yours yourself yourselves yup able assume cool dear entirely
    fine following guess hope kindly literally lol matter obviously ourself previously quick quickly
    second seriously slightly somewhat suppose thx totally understand wait week whichever wonder know
    knows huh uh uhh dude haha seeing best better worse yesterday inside usual apparently ahead
    """
)

# They occur in nearly every goal, so they give way to better words.
WEAK = word_set(
    """
    address attempt bit case change changed changes check clean code context current currently describe
    description detail details different error errors example existing expected extra feature file files
    find found goal help helper implement implementation include including info information issue issues
    item items line lines main mode new note notes now number old option order overview part place plan
    point problem problems project proper propose provide read ready reason repo repository result
    results run running section set setup show shows single start state step steps suggest summary task
    tasks thing today update updated value values verify want work worked working works write added
    adding behavior behaviour call called calls create created folder directory function functions last
    latest method methods similar simple idea question specific support two three ensure handle make
    consider based only proceed continue complete completely
    """
)

OTHER_LANGUAGES: dict[str, frozenset[str]] = {
    "de": word_set(
        """
        aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist bitte
        bräuchte da dabei dafür damit danke dann darf das dass dazu dein deine dem den denn der des
        deshalb dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem
        einen einer eines einfach er es etwas euch euer für gerade gern gerne gibt habe haben hat hatte
        hier hinzu ich ihm ihn ihr ihre im immer in ist ja jede jedem jeden jeder jedes jetzt kann
        kannst kein keine keinen können könnte könntest mach mache machen man mehr mein meine meinen
        mich mir mit möchte möchten muss müssen nach nicht nichts noch nun nur ob oder ohne schon sehr
        sein seine sich sie sind so soll sollen sollte sollten sondern sowie über um und uns unser
        unsere unter viel vom von vor wann warum was wegen weil welche welcher wenn wer werde werden wie
        wir wird wo wollen würde würden zu zum zur zwischen
        """
    ),
    "fr": word_set(
        """
        ai ainsi alors après as au aucun aussi autre aux avant avec avez avoir bien bonjour c ce cela
        celle celui ces cet cette chaque comme comment d dans de depuis des deux doit donc du elle elles
        en encore entre es est et été être eu fait faire fais faut ici il ils j je juste l la le les
        leur leurs lors lui ma mais me merci mes moi mon même n ne nos notre nous on ont ou où par pas
        peu peut peux plaît plus plutôt pour pourquoi pourrais pouvez puis qu quand que quel quelle
        quelles quels qui quoi s sa sans se ses si son sont sous stp sur svp ta te tes toi ton tous tout
        toute toutes très tu un une veux vos votre voudrais vous vraiment y à ça
        """
    ),
    "es": word_set(
        """
        a al algo alguna alguno antes aquí así aunque bien cada como cómo con cual cuál cuando cuándo de
        debe debería del desde donde dónde dos el ella ellos en entre era eres es esa ese eso esta está
        están estas este esto estos favor fue gracias ha hace hacer haga hasta hay hola la las le les lo
        los luego me mi mis muy más nada necesito ni no nos nosotros nuestra nuestro o otra otro otros
        para pero poco podemos podrías por porque puede puedes pues que qué queremos quien quiero se sea
        según ser si sí sin sobre solo sólo son soy su sus también tan te tengo tiene todas todo todos
        tu tus un una unas uno unos usando vamos y ya yo él
        """
    ),
    "pt": word_set(
        """
        a agora ainda algo ao aos apenas aqui as assim até bem cada com como da das de deve dela dele
        depois do dos e ela ele eles em entre era essa esse esta está estamos estão este eu favor faz
        fazer foi gostaria há isso isto já lhe mais mas me mesmo meu minha muito na nas nem no nos nossa
        nosso num numa não nós o obrigado olá onde os ou outra outro para pela pelo pode poderia por
        porque pra precisa preciso precisamos quais qual quando que quem quero se sem ser seu seus sim
        sobre sua suas são também te tem temos tenho todas todo todos tudo um uma umas uns usando vamos
        você vocês à às é
        """
    ),
    "it": word_set(
        """
        a abbiamo ad ai al alla alle allo anche ancora avere c che chi ci ciao come con cosa così da dal
        dalla degli dei del dell della delle dello deve di dopo dove due e ed era essere fa fai fare
        favore gli grazie ha hai hanno ho i il in io l la le lei lo loro lui ma me mi mia mio molto ne
        nei nel nella nelle noi non nostro o ogni ora per perché però più poi possiamo potresti prima
        puoi può quale quando quanto quella quelle quello questa queste questi questo qui se sei senza
        si sia solo sono sopra sotto su sua sul sulla suo sì ti tra tu tutte tutti tutto un una uno
        usando vorrei è
        """
    ),
    "nl": word_set(
        """
        aan al alle alleen alles als altijd andere bedankt ben bij daar dan dat de deze die dit doe doen
        door dus een en er even gaan geen graag had heb hebben heeft hem het hier hoe hun iets ik in is
        ja je jij jullie kan kun kunnen kunt maak maar maken me meer met mij mijn moet moeten naar na
        niet niets nog nu of om omdat ons onze ook op over te tegen toch toe toen tot u uit van veel
        voor waar waarom wanneer wat we weer wel welke wie wij wil willen worden wordt zal ze zeer zich
        zij zijn zo zonder zou
        """
    ),
    "ru": word_set(
        """
        а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да давай
        давайте для до его ее её если есть еще ещё же за здесь здравствуйте и из или им их к как какой
        ко когда кто ли либо мне можешь можно мой мы на надо нам нас наш не него нее нет ни но ну нужно
        о об он она они оно от очень перед по под пожалуйста после потом потому почему при про с сделай
        сделать сейчас со спасибо так также такой там тебя тем то того тоже только том тут ты у уже хочу
        хотел чем что чтобы чтоб эта эти это этого этой этом этот я привет
        """
    ),
    "el": word_set(
        """
        το τον την τη τα τις τους στον στο στη στην στα και για με του της των να είναι θα από ένα μια
        μου
        """
    ),
    "ko": word_set(
        """
        해줘 해주세요 주세요 줘 그리고 그런데 하지만 있는 없는 있어 없어 있습니다 이것 저것 그것 이거
        저거 하는 하고 해서 위해 위한 대한 대해 좀 것 수 때 및 등 또는 제발 지금 여기 저기 우리 내가
        나는 어떻게 왜 무엇 다시 모두 모든 같은
        """
    ),
    "ja": word_set(
        """
        以下 場合 今回 必要 自分 下記 上記 現在 私達 我々 可能 全部 全て
        """
    ),
}

# Han characters that join words in Chinese and are seldom part of a topic word.
CHINESE_CUTS = frozenset(
    "的了在和是把请請我你您他她它们們这這那个個着被给給让讓对對与與及或为為也都就还還很吗嗎呢吧啊并"
)
CHINESE_STOPS = word_set(
    """
    一下 一个 一個 一些 可以 能否 是否 需要 使用 帮忙 幫忙 如何 怎么 怎麼 什么 什麼 为什么 為什麼 如果
    因为 因為 所以 但是 然后 然後 现在 現在 进行 進行 通过 通過 目前 已经 已經 应该 應該 没有 沒有 不要
    不能 谢谢 謝謝 里面 裡面 以及 其他 所有 这样 這樣 关于 關於 希望 想要 帮我 幫我 直接 时候 用来
    """
)
# A run of Han has no spaces: these frequent terms prevent cuts in the wrong place.
HAN_TERMS = word_set(
    """
    中间件 中間件 数据库 資料庫 数据 資料 用户 用戶 使用者 认证 認證 認証 授权 授權 登录 登入 注册 註冊
    密码 密碼 接口 介面 测试 測試 单元 單元 集成 修复 修復 修正 错误 錯誤 异常 異常 添加 增加 新增 追加
    删除 刪除 削除 更新 修改 变更 變更 変更 重构 重構 优化 優化 最適化 实现 實現 実装 功能 機能 页面
    頁面 画面 按钮 按鈕 配置 設定 设置 文件 文档 文檔 函数 函數 関数 组件 組件 模块 模組 模块化 服务
    服務 服务器 伺服器 客户端 客戶端 前端 后端 後端 缓存 緩存 日志 日誌 请求 請求 响应 響應 路由 权限
    權限 支付 订单 訂單 列表 搜索 搜尋 检索 検索 上传 上傳 下载 下載 导出 導出 导入 導入 图片 圖片 显示
    顯示 表示 样式 樣式 主题 主題 代码 代碼 程式 项目 專案 分支 提交 合并 合併 部署 发布 發布 构建 構建
    编译 編譯 类型 類型 字段 欄位 参数 參數 变量 變數 変数 性能 内存 記憶體 线程 線程 并发 並發 同步
    异步 異步 非同期 处理 處理 処理 解析 验证 驗證 検証 校验 检查 檢查 确认 確認 问题 問題 升级 升級
    迁移 遷移 移行 版本 依赖 依賴 依存 环境 環境 国际化 國際化 多语言 翻译 翻譯 通知 消息 訊息 推送 邮件
    郵件 定时 任务 任務 队列 隊列 事务 事務 索引 查询 查詢 分页 分頁 排序 过滤 過濾 表单 表單 表格 图表
    圖表 弹窗 菜单 選單 导航 導航 状态 狀態 状態 管理 解释 解釋 说明 說明 分析 审查 審查 评审 限流 速率
    限制 重命名 简化 簡化 脚本 腳本 命令 插件 工具 框架 架构 架構 设计 設計 报告 報告 统计 統計 监控
    監控 调试 調試 失败 失敗 崩溃 崩潰 超时 超時 网络 網路 安全 加密 令牌 会话 會話 账户 帳戶 个人 首页
    首頁 全局 本地 远程 遠端 自动 自動 手动 移动端 響應式 布局 生成 作成 调用 呼出 读取 寫入 写入 保存
    格式 日期 时间 時間 单元测试 集成测试 错误处理 登录页面 登録 認可 例外 単体 結合 画像 一覧 詳細 編集
    追跡 送信 受信 接続 構成 開発 本番 改善 対応 調査 説明 仕様 型定義
    """
)

# Parts of paths that every project has.
PATH_NOISE = word_set(
    """
    src lib libs test tests spec specs __tests__ cmd pkg internal app apps packages package main java
    kotlin scala python com org net io www node_modules dist build out target bin vendor users home usr
    var tmp opt etc mnt root private documents desktop downloads projects project workspace work code
    source repos repo git github dev local index init mod __init__ __main__ public static assets
    resources include modules module crates
    """
)

# Short words that are meaningful in a goal about software.
SHORT_TERMS = word_set(
    """
    go ui ux db ci cd pr qa js ts py rb rs cs os io ip ai ml vm vr ar fs tz qt gh hr id ie jq ld mr nx
    ph pi rx sh ec s3 k8s i18n l10n a11y o11y e2e r2 h2 x11 v8 d3 2d 3d 2fa p2p b2b i2c ec2 mp3 mp4 x86
    h264 h265 y2k c4 es6 c# f# c++ .net mfa sso mcp
    """
)

# One word despite mixed case. The spelling matters: they also occur inside identifiers.
COMPOUNDS = word_set(
    """
    GitHub GitLab GitOps BitBucket Bitbucket GraphQL TypeScript JavaScript CoffeeScript ActionScript
    AppleScript PostgreSQL PostgreSql MySQL MySql NoSQL NoSql SQLite SQLAlchemy MongoDB DynamoDB CouchDB
    MariaDB InfluxDB DuckDB RocksDB CockroachDB ClickHouse BigQuery RabbitMQ ZeroMQ ActiveMQ OAuth2
    OAuth OpenID OpenAI OpenAPI OpenGL OpenCL OpenSSL OpenSSH OpenCV OpenCode OpenTelemetry OpenSearch
    OpenTofu OpenShift iOS iPadOS macOS MacOS tvOS watchOS visionOS iPhone iPad iCloud WebSocket WebRTC
    WebGL WebGPU WebAssembly WebView WebAuthn WebKit WebXR FastAPI PyTorch TensorFlow PyPI PyQt PySide
    NumPy SciPy LangChain LangGraph LlamaIndex HuggingFace PowerShell PowerPoint VSCode VsCode IntelliJ
    WebStorm PyCharm YouTube LinkedIn WhatsApp WordPress WooCommerce PayPal DevOps DevTools DevContainer
    SvelteKit SwiftUI UIKit AppKit NestJS NextJS NuxtJS ReactJS VueJS NodeJS ThreeJS AngularJS SolidJS
    JQuery jQuery ESLint TSLint JSDoc TailwindCSS CSSModules LaTeX MkDocs JUnit PHPUnit NUnit XUnit
    RSpec PyTest GoReleaser GoLang CloudFlare CloudFront CloudWatch CloudFormation CircleCI ArgoCD
    HomeKit HomeBrew AirFlow PubSub FFmpeg RegExp RegEx JUnit5 HTTP2 HTTP3 Log4j Auth0 Neo4j Base64 Web3
    LocalStack DotNet BlueTooth WiFi JSONL JSONB IPv4 IPv6 ARKit RxJS D3JS
    """
)

# Words with a punctuation mark inside that stays.
SIGNED_TERMS = word_set(
    """
    c++ c# f# .net asp.net node.js next.js vue.js nuxt.js react.js three.js d3.js express.js nest.js
    ember.js backbone.js alpine.js solid.js chart.js discord.js socket.io draw.io pre-commit
    react-native scikit-learn utf-8 utf-16 t-sql objective-c x-ray wi-fi
    """
)

# Words of praise, small talk and general work: a sentence made of them says nothing about a project.
FILLER = word_set(
    """
    about actual actually after again also another answer anything approach appropriate are because been
    before best better both case change changes choice choose chose chosen clean cleaner clear clearer code
    concise consistent continue could current currently decide decided deliberately direction does done each
    easier easily easy else enough ensure even every everything existing explore fine first focus following
    from further give going good have having help here implement implementation important instead
    intentionally into issue issues just keep keeps kind like look looks made maintain maintainable make makes
    making might more most much need needed needs next okay only option options opted other over part picked
    plan possible prefer preference preferred problem proceed question rather readable reason really reliable
    review right robust same settled should simple simpler simplest since some something specific start still
    straightforward stuck such suggest sure task than that them then there these they thing things think this
    those through time today understand until used useful user uses using version very want wants well went
    were what when where whether which while will with work working works would your
    """
)
