"""Words of other languages that classify a prompt: German, French, Spanish, Chinese, Japanese, and some more."""

from __future__ import annotations

from holdfast.core.words import word_set


def parts(listed: str) -> tuple[str, ...]:
    """Splits a list that is separated by commas, over several lines."""
    return tuple([part.strip() for part in listed.split(",")])


# Matched anywhere in the prompt: verbs often come last.
WISH_ABROAD = word_set(
    """necesito necesitamos quiero queremos quisiera debería deberían falta j'aimerais veux voudrais faudrait
    devrait möchte brauche brauchen soll sollte sollten müssen muss preciso quero deve deveria vorrei voglio
    dovrebbe нужно надо хочу должен должна moet wil chcę powinien"""
)


CHANGE_ABROAD = word_set(
    """füge hinzufügen hinzu implementiere implementieren behebe beheben repariere reparieren korrigiere
    korrigieren ändere ändern erstelle erstellen schreibe schreib schreiben umbenennen benenne entferne
    entfernen lösche löschen ersetze ersetzen aktualisiere aktualisieren refaktoriere refaktorieren baue
    einbauen umbauen bau verschiebe verschieben ergänze ergänzen vereinfache vereinfachen verbessere
    verbessern mach passe anpassen optimiere optimieren übersetze machen mache änder ajoute ajouter ajoutez
    corrige corriger corrigez crée créer créez implémente implémenter implémentez modifie modifiez supprime
    supprimer supprimez renomme renommer remplace remplacer refactorise refactoriser écris écrire écrivez
    mets déplace déplacer répare réparer améliore améliorer traduis simplifie simplifier rajoute añade
    añadir añada agrega agregar agregue arregla arreglar arregle crea crear implementa implementar
    implemente corregir corrija cambia cambiar cambie elimina eliminar elimine borra borrar escribe escribir
    escriba actualiza actualizar actualice renombra renombrar refactoriza refactorizar reemplaza reemplazar
    mueve mejora mejorar haz soluciona solucionar quita quitar traduce créalo hazlo arréglalo corrígelo
    añádelo cámbialo adiciona adicionar adicione conserta consertar conserte corrigir cria criar crie muda
    mudar altera alterar altere remova escreve escrever escreva atualiza atualizar atualize refatora
    refatorar substitui aggiungi aggiungere correggi correggere modifica modificare rimuovi rimuovere
    rinomina scrivi aggiorna sostituisci sistema voeg toevoegen verwijder verwijderen wijzig wijzigen maak
    herstel schrijf dodaj napraw zmień usuń stwórz napisz popraw добавь добавить добавьте исправь исправить
    исправьте создай создать реализуй реализовать удали удалить перепиши обнови обновить напиши написать
    измени изменить переименуй замени почини сделай сделать отрефактори поправь убери перенеси ekle düzelt
    oluştur değiştir sil güncelle yaz kaldır"""
)


BROKEN_ABROAD = word_set(
    """schlägt fehl fehler fehlschlägt kaputt abstürzt stürzt funktioniert erreur échoue échouent plante cassé
    cassée fonctionne falla fallan fallando roto rota funciona erro falhando quebrado errore rotto fallisce
    ошибка ошибку сломан сломалось падает работает hata çalışmıyor błąd"""
)


LOOK_ABROAD = word_set(
    """wo welche welcher welches schau schaue untersuche untersuchen prüfe prüfen überprüfe überprüfen
    analysiere analysieren finde suche suchen vergleiche zeig zeige recherchiere où cherche chercher vérifie
    vérifier vérifiez analyse analyser examine regarde regarder compare trouve trouver montre dónde donde
    busca buscar revisa revisar analiza analizar investiga investigar encuentra muestra verifica verificar
    compara onde procura verifique analise mostre dove cerca controlla analizza trova где найди проверь
    посмотри изучи покажи проанализируй сравни waar zoek bekijk nerede incele gdzie znajdź sprawdź"""
)


ASK_ABROAD = word_set(
    """warum wieso weshalb bedeutet unterschied erkläre erklär wann wie pourquoi quelle quel quels quelles
    signifie différence explique expliquer qu'est-ce est-ce qué significa diferencia explica cuál cuándo
    cómo diferença quando perché cosa differenza spiega почему зачем что объясни разница означает как waarom
    betekent verschil neden nedir dlaczego czym"""
)


CHAT_ABROAD = word_set(
    """danke merci gracias obrigado grazie спасибо dank teşekkürler dziękuję hallo bonjour hola ciao привет"""
)


CHORE_ABROAD = word_set("committe pushe starte lance ejecuta execute запусти закоммить esegui führe")


# Scripts without spaces: matched as substrings.
CHANGE_PARTS = parts(
    """添加, 增加, 新增, 修复, 修改, 修正, 实现, 删除, 重构, 创建, 写一个, 写个, 改成, 改为, 优化, 更新,
    解决, 替换, 重命名, 改一下, 加上, 加一个, 加个, 去掉, 移除, 完善, 支持, 迁移, 封装, 編寫, 編輯, 開發,
    开发, 编写, 翻译, 調整, 调整, 改名, 换成, 處理, 处理一下, 補上, 补充, 做一个, 生成, 追加して, 追加し,
    修正して, 修正し, 実装して, 実装し, 直して, 作成して, 作って, 変更して, 変更し, 削除して, リファクタ,
    書いて, 更新して, 置き換え, ようにして, ようにし, 消して, 対応して, 変えて, 移動して, 改善して,
    書き換え, 추가해, 수정해, 구현해, 고쳐, 만들어, 삭제해, 변경해, 리팩, 작성해, 바꿔, 업데이트해,
    제거해"""
)


BROKEN_PARTS = parts(
    """报错, 崩溃, 失败, 错误, 不工作, 异常, 有问题, 没反应, 不起作用, 無法, 无法, エラーが, 失敗, 動かない,
    動きません, 落ちる, 壊れ, 表示されない, 表示されません, 出ない, 直らない, なおらない, 変わらない, ズレ,
    できません, 오류, 에러, 실패, 안돼, 안됩니다"""
)


LOOK_PARTS = parts(
    """哪里, 在哪, 哪个文件, 看看, 看一下, 检查, 分析, 查找, 查一下, 审查, 对比, 比较一下, 找到, 列出, 阅读,
    调查, 研究, 怎么实现的, 如何实现的, 評估, 评估, 哪些文件, どこ, 調べて, 確認して, 見て, レビュー,
    調査, 比較して, 探して, 分析して, 一覧, 어디, 확인해, 분석해, 찾아, 살펴, 검토, 비교해"""
)


ASK_PARTS = parts(
    """什么是, 什么意思, 为什么, 吗, 区别, 是什么, 怎么, 如何, 解释, とは, 何ですか, なぜ, 違い, 教えて,
    意味, ですか, どう, 説明して, 뭐야, 무엇, 왜, 차이, 설명, 인가요, 나요, 뭔가요"""
)


CHORE_PARTS = parts(
    """提交, 推送, 合并到, 运行, コミット, プッシュ, マージ, デプロイ, リリース, 実行して, 커밋, 푸시, 실행해"""
)


CHAT_PARTS = parts("""谢谢, 你好, 多谢, ありがとう, こんにちは, 감사, 안녕, お疲れ""")


# class, weight, words, parts of words
ABROAD = (
    ("code-gen", 3.0, CHANGE_ABROAD, CHANGE_PARTS),
    ("code-gen", 1.6, BROKEN_ABROAD, BROKEN_PARTS),
    (
        "code-gen",
        1.6,
        WISH_ABROAD,
        parts("""需要, 想要, 应该, 希望, 必要, てほしい, べき, したい, りたい, きたい, めたい, えたい,
            しよう, 続けて, やって, 進めて, お願いします, 해줘, 해주세요, 필요"""),
    ),
    ("exploration", 2.4, LOOK_ABROAD, LOOK_PARTS),
    ("qa", 1.9, ASK_ABROAD, ASK_PARTS),
    ("other", 2.0, CHAT_ABROAD, CHAT_PARTS),
    ("other", 2.2, CHORE_ABROAD, CHORE_PARTS),
)


WISHES = frozenset(("хочу", "quiero", "möchte", "veux", "vorrei", "quero", "chcę", "wil"))
